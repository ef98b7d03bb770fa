import { expect } from 'vitest'
import { stateNames } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form, formWithDefault, minute } from './props.ts'
import type { Store } from './stores.ts'
import { on, plays } from './theatre.ts'

/** Specification 004: the life of a run, its replies, and what a client is told of it. */
export function runPlays(store: Store) {
  scenario(
    'RU-01',
    'a run goes queued → running → waiting_user → queued → running → terminal',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN the six states that a run can be in, and no others
      expect(stateNames(runMachine)).toEqual(['queued', 'running', 'waiting_user', 'succeeded', 'failed', 'canceled'])

      // WHEN a run needs an answer on its way and gets it
      const run = await t.run()
      expect(await t.status(run.runId)).toBe('waiting_user')
      await t.reply((await t.question()).interaction_id, chosen)

      // THEN it has gone through exactly these states, and each dispatch counts as an attempt
      const moves = await t.of(run.sessionId, 'run.submitted', 'run.moved')
      expect(moves.map((rune) => rune.to)).toEqual([
        ...['queued', 'running', 'waiting_user', 'queued', 'running', 'succeeded'],
      ])
      expect(moves.flatMap(({ payload }) => ('attempt' in payload ? [payload.attempt] : []))).toEqual([1, 2])
      expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
    }),
  )

  scenario(
    'RU-01',
    'the same run, stopped in each of its states, ends as canceled from exactly there',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN one run that is queued, since its session is paused, and one that waits
      const waiting = await t.run()
      const { sessionId } = waiting
      await t.sw.sessions.pause(sessionId)
      const queued = await t.run({ sessionId })

      // WHEN both are cancelled
      expect(await t.sw.runs.cancel(queued.runId)).toMatchObject({ accepted: true })
      expect(await t.sw.runs.cancel(waiting.runId, 'not needed any more')).toMatchObject({ accepted: true })

      // THEN each says truly where it was, the question is withdrawn, and a second cancel changes nothing
      expect(await t.moves(sessionId, queued.runId)).toEqual(['queued → canceled (run.canceled)'])
      expect((await t.moves(sessionId, waiting.runId)).at(-1)).toBe('waiting_user → canceled (run.canceled)')
      expect(await t.sw.inbox.list()).toEqual([])
      expect(await t.sw.runs.cancel(waiting.runId)).toMatchObject({ accepted: false, status: 'canceled' })
      expect(await waiting.result()).toMatchObject({ status: 'canceled', message: 'not needed any more' })
    }),
  )

  scenario(
    'RU-02',
    'a reply queues the waiting run',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN a run in waiting_user
      const run = await t.run()
      const { interaction_id } = await t.question()

      // WHEN the reply is accepted
      const given = { reply: chosen, repliedBy: 'mia', idempotencyKey: 'k1' }
      expect(await t.sw.inbox.reply(interaction_id, given)).toMatchObject({ runId: run.runId, isRepeated: false })
      await t.sw.idle()

      // THEN the run became queued by that event, in the append of the answer
      const [answered] = await t.of(run.sessionId, 'interaction.answered')
      const moved = (await t.of(run.sessionId, 'run.moved')).find((r) => r.from === 'waiting_user')
      expect(moved).toMatchObject({ to: 'queued', trigger: 'interaction.reply.accepted', actor: 'human' })
      expect(moved?.event_id).toBe((answered?.event_id ?? 0) + 1)
      expect(answered?.payload).toMatchObject({ replied_by: 'mia', reply: chosen })

      // AND the same reply sent again is accepted again and does nothing; any other is told who was faster
      const before = (await t.runes(run.sessionId)).length
      expect(await t.sw.inbox.reply(interaction_id, given)).toMatchObject({ isRepeated: true })
      await expect(t.sw.inbox.reply(interaction_id, { ...given, reply: { action: 'reject' } })).rejects.toMatchObject({
        code: 'key_reused',
      })
      await expect(t.sw.inbox.reply(interaction_id, { reply: chosen })).rejects.toMatchObject({
        code: 'interaction_closed',
        details: { state: 'answered', by: 'mia' },
      })
      await expect(t.sw.inbox.reply('int_unknown', { reply: chosen })).rejects.toMatchObject({ code: 'not_found' })
      expect(await t.runes(run.sessionId)).toHaveLength(before)
    }),
  )

  scenario(
    'RU-02',
    'a reply that does not fit leaves the run waiting',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN a run in waiting_user
      const run = await t.run()
      const { interaction_id } = await t.question()

      // WHEN a reply leaves out what is required
      const unfit = t.sw.inbox.reply(interaction_id, { reply: { action: 'approve', data: {} } })

      // THEN it is refused with the place of the problem, and nothing moved
      await expect(unfit).rejects.toMatchObject({ code: 'reply_unfit' })
      expect(await t.status(run.runId)).toBe('waiting_user')
      await t.reply(interaction_id, chosen)
      expect(await t.status(run.runId)).toBe('succeeded')
    }),
  )

  scenario(
    'RU-07',
    'FCMP tells a reply right before the change that it makes',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // WHEN a run waits and a person replies
      const run = await t.run()
      const { interaction_id } = await t.question()
      await t.reply(interaction_id, chosen)

      // THEN the whole stream is this
      const stream = await t.fcmp(run.sessionId, run.runId)
      expect(stream.map(({ type, data, meta }) => ({ type, data, attempt: meta.attempt }))).toMatchObject([
        { type: 'conversation.state.changed', data: { from: 'queued', to: 'running', trigger: 'turn.started' } },
        { type: 'user.input.required', data: { kind: 'fill_fields', interaction_id, prompt: 'Which one?' } },
        {
          type: 'conversation.state.changed',
          data: { from: 'running', to: 'waiting_user', pending_interaction_id: interaction_id },
        },
        { type: 'interaction.reply.accepted', data: { interaction_id, resolution_mode: 'user_reply' } },
        {
          type: 'conversation.state.changed',
          data: { from: 'waiting_user', to: 'queued', trigger: 'interaction.reply.accepted' },
          attempt: 1,
        },
        { type: 'conversation.state.changed', data: { from: 'queued', to: 'running' }, attempt: 2 },
        { type: 'assistant.message.final', data: { text: 'Done.' } },
        {
          type: 'conversation.state.changed',
          data: { to: 'succeeded', terminal: { status: 'succeeded' } },
          attempt: 2,
        },
      ])
      expect(stream.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    }),
  )

  scenario(
    'RU-08',
    'FCMP tells an automatic decision right before the change that it makes',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // WHEN a run waits and its deadline decides
      const run = await t.run({ interactiveRequireUserReply: false })
      const { interaction_id } = await t.question()
      await t.hand.advance(15 * minute)
      await t.sw.idle()

      // THEN the event of that name stands right before the change with that trigger
      const stream = await t.fcmp(run.sessionId, run.runId)
      const at = stream.findIndex((event) => event.type === 'interaction.auto_decide.timeout')
      expect(stream.slice(at, at + 2)).toMatchObject([
        {
          type: 'interaction.auto_decide.timeout',
          data: { interaction_id, resolution_mode: 'auto_decide_timeout', policy: 'cancel' },
        },
        {
          type: 'conversation.state.changed',
          data: { from: 'waiting_user', to: 'queued', trigger: 'interaction.auto_decide.timeout' },
        },
      ])
    }),
  )

  scenario(
    'RU-08',
    'two questions of one round: the second answer finds the run at work, and the stream stays whole',
    on(
      store,
      {
        agents: {
          main: agent({
            role: 'player',
            model: scriptedModel([{ text: '', calls: [...form.calls, ...formWithDefault.calls] }, say('Done.')]),
          }),
        },
      },
      async (t) => {
        // GIVEN a run that asked two questions at once
        const run = await t.run({ interactiveRequireUserReply: false })
        const [one, two] = await t.sw.inbox.list()

        // WHEN one is answered, and the deadline of the other passes later
        await t.reply(one?.interaction_id ?? '', chosen)
        expect(await t.status(run.runId)).toBe('waiting_user')
        await t.hand.advance(15 * minute)
        await t.sw.idle()

        // THEN each closed by itself, and the run was queued by each
        expect(two?.interaction_id).not.toBe(one?.interaction_id)
        expect((await t.moves(run.sessionId, run.runId)).filter((move) => move.startsWith('waiting_user'))).toEqual([
          'waiting_user → queued (interaction.reply.accepted)',
          'waiting_user → queued (interaction.auto_decide.timeout)',
        ])
        expect(await run.result()).toMatchObject({ status: 'succeeded' })
      },
    ),
  )
}
