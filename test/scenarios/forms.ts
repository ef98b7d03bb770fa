import { expect } from 'vitest'
import type { Json } from '../../src/kernel/json.ts'
import { ask, say, together } from '../../src/runtime/scripted-model.ts'
import { fieldTypes } from '../../src/wire/form.ts'
import { on, play } from './stage.ts'
import type { Store } from './stores.ts'

const options = [{ value: 'red', label: 'Red' }, 'green', 'blue']

/** A field of every type, each with what fits it, what does not, and why. */
const fields = {
  text: { field: {}, fits: 'one line', not: 'two\nlines', because: 'single line' },
  textarea: { field: { max: 20 }, fits: 'two\nlines', not: 'x'.repeat(21), because: 'at most 20 characters' },
  select: { field: { options }, fits: 'green', not: 'Red', because: 'one of red, green, blue' },
  multiselect: { field: { options, max: 2 }, fits: ['red', 'blue'], not: ['red', 'red'], because: 'chosen once' },
  radio: { field: { options }, fits: 'red', not: 7, because: 'one of red, green, blue' },
  checkbox: { field: {}, fits: true, not: false, because: 'must be ticked' },
  number: { field: { min: 0, step: 0.1 }, fits: 0.3, not: 0.35, because: 'whole number of steps of 0.1' },
  slider: { field: { min: 1, max: 5 }, fits: 5, not: 6, because: 'at most 5' },
  date: { field: { min: '2026-01-01' }, fits: '2026-02-28', not: '2026-02-30', because: 'a date like' },
  datetime: { field: {}, fits: '2026-02-28T10:30+01:00', not: '2026-02-28T10:30', because: 'with its offset' },
  boolean: { field: {}, fits: false, not: 'no', because: 'true or false' },
} satisfies Record<(typeof fieldTypes)[number], { field: Record<string, Json>; fits: Json; not: Json; because: string }>

const entries = Object.entries(fields)
const form = (more: (type: string) => Record<string, Json>) => ({
  title: 'Everything',
  fields: entries.map(([type, { field }]) => ({ name: type, type, ...field, ...more(type) })),
})
const required = form(() => ({ required: true }))
const defaulted = form((type) => ({ required: true, default: fields[type as keyof typeof fields].fits as Json }))
const data = Object.fromEntries(entries.map(([type, { fits }]) => [type, fits as Json]))

/** Steps that are handed to a person: forms, confirmations, displays. */
export function formPlays(store: Store) {
  play(
    'forms: a form with a field of every type is answered',
    on(
      store,
      () => ({ script: [ask(required), say('Thanks.')] }),
      async ({ run, question, reply, snapshots, consequences, status, of }) => {
        expect(entries.map(([type]) => type).sort()).toEqual([...fieldTypes].sort())
        // GIVEN the form
        const { sessionId, runId } = await run()
        const { interaction_id, interaction_kind, prompt } = await question()
        expect({ interaction_kind, prompt }).toEqual({ interaction_kind: 'ecs', prompt: 'Everything' })

        // WHEN every field is wrong, each is named with what would be right, and nothing happens
        const wrong = Object.fromEntries(entries.map(([type, { not }]) => [type, not as Json]))
        const refused = await reply(interaction_id, { action: 'approve', data: wrong }).catch((error) => error)
        expect(refused).toMatchObject({ code: 'reply_unfit' })
        const problems: { pointer: string; problem: string }[] = refused.details.problems
        expect(problems.map(({ pointer }) => pointer)).toEqual(entries.map(([type]) => `/data/${type}`))
        for (const [i, [, { because }]] of entries.entries()) expect(problems[i]?.problem).toContain(because)
        expect(await status(runId)).toBe('waiting_user')

        // AND when every field is left out, each is named, too
        const empty = await reply(interaction_id, { action: 'approve' }).catch((error) => error)
        expect(empty.details.problems).toHaveLength(entries.length)

        // WHEN every field fits
        await reply(interaction_id, { action: 'approve', data })

        // THEN the answer is the result of the step
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: data }])
        expect(await consequences(sessionId)).toMatchObject([{ consequence_label: 'SUCCESS', was_suspended: true }])
        expect(await status(runId)).toBe('succeeded')
        expect(await of(sessionId, 'interaction.answered')).toHaveLength(1)
      },
    ),
  )

  play(
    'forms: edited data is accepted, and an unknown field is refused',
    on(
      store,
      () => ({ script: [ask(defaulted), say('Thanks.')] }),
      async ({ run, question, reply, snapshots }) => {
        const { sessionId } = await run()
        const { interaction_id } = await question()
        const unasked = reply(interaction_id, { action: 'edit', data: { colour: 'red' } })
        await expect(unasked).rejects.toMatchObject({
          code: 'reply_unfit',
          details: { problems: [{ pointer: '/data/colour', problem: 'There is no such field.' }] },
        })
        // WHEN one field is changed, THEN the others have their defaults
        await reply(interaction_id, { action: 'edit', data: { slider: 2 } })
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'completed', result: { ...data, slider: 2 } },
        ])
      },
    ),
  )

  play(
    'forms: a refusal rejects the step, whatever its fields say',
    on(
      store,
      () => ({ script: [ask(required), say('A pity.')] }),
      async ({ run, question, reply, snapshots, of, status }) => {
        const { sessionId, runId } = await run()
        await reply((await question()).interaction_id, { action: 'reject', reason: 'None of your business.' })
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'rejected', error_message: 'None of your business.', last_actor: 'human' },
        ])
        expect((await of(sessionId, 'contract.moved')).map((move) => move.trigger)).toEqual([
          'start',
          'suspend',
          'resume',
          'reject',
        ])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'forms: an auto run takes the defaults, or declines if they are not complete',
    on(
      store,
      () => ({
        script: [
          together(ask(defaulted), ask(required)),
          together(
            ask({ type: 'confirmation', title: 'Sure?' }),
            ask({ type: 'display', title: 'Look', displays: [{ type: 'ascii', data: ':)' }] }),
          ),
          say('Done.'),
        ],
      }),
      async ({ run, snapshots, inbox, of, status }) => {
        // GIVEN a run that may not ask a person
        const { sessionId, runId } = await run({ mode: 'auto' })
        // THEN what has complete defaults is done with them, and silence never confirms anything
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'completed', result: data, last_actor: 'graph_runner' },
          { current_status: 'rejected', error_message: expect.stringContaining('defaults are not complete') },
          { current_status: 'rejected', action_summary: 'Sure?' },
          { current_status: 'completed', action_summary: 'Look' },
        ])
        expect(await inbox()).toEqual([])
        // AND the run never waited
        expect((await of(sessionId, 'run.moved')).map((rune) => rune.to)).toEqual(['running', 'succeeded'])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'forms: after the deadline the defaults are taken, or the step lapses if they are not complete',
    on(
      store,
      () => ({
        settings: { replyTimeoutMs: 60_000 },
        script: [together(ask(defaulted), ask(required)), say('Done.')],
      }),
      async ({ world, run, snapshots, inbox, of, status, reply }) => {
        // GIVEN a run that lets deadlines decide, and a restart while it waits
        const { sessionId, runId } = await run({ interactiveRequireUserReply: false })
        const questions = await inbox()
        const until = world.hand.clock.now() + 60_000
        expect(questions.map((q) => q.deadline)).toEqual([until, until])
        await world.hand.advance(59_000)
        await world.restart()
        expect(await status(runId)).toBe('waiting_user')

        // WHEN the deadline passes
        await world.hand.advance(1_000)
        await world.until(sessionId, (rune) => rune.to === 'succeeded')

        // THEN the one has its defaults and the other is cancelled by the timer
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'completed', result: data },
          { current_status: 'cancelled', last_trigger: 'timeout', last_actor: 'timer' },
        ])
        const expired = await of(sessionId, 'interaction.expired')
        expect(expired.map((rune) => [rune.actor, rune.payload.effect]).toSorted()).toEqual([
          ['timer', 'cancel'],
          ['timer', 'use_default'],
        ])
        // AND a later answer is refused as too late
        await expect(reply(questions[0]?.interaction_id ?? '', { action: 'approve', data })).rejects.toMatchObject({
          code: 'interaction_closed',
          details: { state: 'expired', by: 'timer' },
        })
      },
    ),
  )

  play(
    'forms: a strict run waits without a deadline',
    on(
      store,
      () => ({ settings: { replyTimeoutMs: 1_000 }, script: [ask(defaulted), say('Done.')] }),
      async ({ world, run, question, reply, status }) => {
        const { runId } = await run()
        expect((await question()).deadline).toBeNull()
        await world.hand.advance(365 * 86_400_000)
        await world.restart()
        await world.hand.advance(365 * 86_400_000)
        expect(await status(runId)).toBe('waiting_user')
        await reply((await question()).interaction_id, { action: 'approve' })
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'forms: a confirmation and a display are answered',
    on(
      store,
      () => ({
        script: [
          ask({ type: 'confirmation', title: 'Deploy?', description: 'To production.' }),
          ask({ type: 'display', title: 'The plan', displays: [{ type: 'table', data: [{ step: 1 }] }] }),
          say('Done.'),
        ],
      }),
      async ({ run, question, reply, snapshots }) => {
        const { sessionId } = await run()
        await reply((await question()).interaction_id, { action: 'approve' })
        await reply((await question()).interaction_id, { action: 'approve' })
        expect(await snapshots(sessionId)).toMatchObject([
          { action_summary: 'Deploy?', current_status: 'completed', result: {} },
          { action_summary: 'The plan', current_status: 'completed', result: {} },
        ])
      },
    ),
  )

  play(
    'forms: a form that has no possible answer is refused before a person sees it',
    on(
      store,
      () => ({
        script: [
          together(
            ask({ title: 'No fields' }),
            ask({ title: 'Which?', fields: [{ name: 'x', type: 'select' }] }),
            ask({ title: 'Twice', fields: [{ name: 'x' }, { name: 'x' }] }),
            ask({ fields: [{ name: 'x' }] }),
            ask({ title: 'Odd', fields: [{ name: 'x', type: 'hologram' }] }),
          ),
          say('Sorry.'),
        ],
      }),
      async ({ run, inbox, snapshots, status }) => {
        const { sessionId, runId } = await run()
        const contracts = await snapshots(sessionId)
        expect(contracts.map((s) => s.current_status)).toEqual(Array(5).fill('rejected'))
        for (const { error_message } of contracts)
          expect(error_message).toMatch(/^The request does not fit: .* No person was asked\.$/)
        expect(await inbox()).toEqual([])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )
}
