import { expect } from 'vitest'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form, formWithDefault, minute, refund } from './props.ts'
import type { Store } from './stores.ts'
import { on, plays } from './theatre.ts'

/** Specification 004: the effect of no answer. */
export function deadlinePlays(store: Store) {
  scenario(
    'RU-03',
    'without a reply the deadline decides and queues the run',
    on(store, { agents: { main: plays([form, formWithDefault, say('Done.')]) } }, async (t) => {
      // GIVEN a run in waiting_user that need not have a reply
      const run = await t.run({ interactiveRequireUserReply: false })
      const first = await t.question()
      expect(first.deadline).toBe(t.hand.clock.now() + 15 * minute)

      // WHEN the deadline has not passed yet, nothing happens; when it has,
      await t.hand.advance(15 * minute - 1)
      expect(await t.status(run.runId)).toBe('waiting_user')
      await t.hand.advance(1)
      await t.sw.idle()

      // THEN it was queued by interaction.auto_decide.timeout, and the question without an answer ended as lapsed
      const moves = await t.moves(run.sessionId, run.runId)
      expect(moves).toContain('waiting_user → queued (interaction.auto_decide.timeout)')
      const ended = (await t.of(run.sessionId, 'contract.moved')).filter((r) => r.trigger === 'timeout')
      expect(ended).toMatchObject([{ from: 'waiting', to: 'cancelled' }])

      // AND where the defaults answer for the person, they become the result of the step
      await t.hand.advance(15 * minute)
      await t.sw.idle()
      const taken = (await t.of(run.sessionId, 'contract.moved')).filter((r) => r.trigger === 'succeed')
      expect(taken.map((r) => r.payload.result)).toEqual([{ choice: 'blue' }])
      expect(await t.of(run.sessionId, 'interaction.expired')).toMatchObject([
        { actor: 'timer', payload: { effect: 'cancel' } },
        { actor: 'timer', payload: { effect: 'use_default' } },
      ])
      expect(await run.result()).toMatchObject({ status: 'succeeded' })
    }),
  )

  const silent = refund()
  scenario(
    'RU-03',
    'silence never approves what cannot be undone',
    on(
      store,
      {
        agents: { main: plays([call('payments.refund', { order: '42' }), say('Not done.')], { tools: [silent.tool] }) },
      },
      async (t) => {
        // GIVEN a run that need not have a reply, waiting for the approval of an irreversible action
        const run = await t.run({ interactiveRequireUserReply: false })
        expect(await t.question()).toMatchObject({ interaction_kind: 'approval' })

        // WHEN the deadline passes
        await t.hand.advance(15 * minute)
        await t.sw.idle()

        // THEN the action was not run, and the call has its own result for that
        expect(silent.paid).toEqual([])
        expect(await t.of(run.sessionId, 'tool.result')).toMatchObject([
          { from: 'awaiting_approval', to: 'timeout_result', payload: { status: 'timeout' } },
        ])
        expect(await t.status(run.runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'RU-03',
    'a strict run waits however long it takes',
    on(store, { agents: { main: plays([formWithDefault, say('Done.')]) } }, async (t) => {
      // GIVEN a run that must have a reply
      const run = await t.run({ interactiveRequireUserReply: true })
      expect(await t.question()).toMatchObject({ deadline: null })

      // WHEN a year passes
      await t.hand.advance(365 * 24 * 60 * minute)

      // THEN it still waits, and the reply is as good as on the first day
      expect(await t.status(run.runId)).toBe('waiting_user')
      await t.reply((await t.question()).interaction_id, chosen)
      expect(await t.status(run.runId)).toBe('succeeded')
    }),
  )

  for (const order of ['the reply comes first', 'the deadline comes first'] as const)
    scenario(
      'RU-03',
      `of a reply and a deadline at the same instant one wins: ${order}`,
      on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
        // GIVEN a run whose deadline is one millisecond away
        const run = await t.run({ interactiveRequireUserReply: false })
        const { interaction_id } = await t.question()
        await t.hand.advance(15 * minute - 1)

        // WHEN the reply and the deadline come at once
        const begin = [
          () =>
            t.sw.inbox.reply(interaction_id, { reply: chosen }).then(
              () => 'accepted',
              (error) => String(error.code),
            ),
          () => t.hand.advance(1).then(() => 'passed'),
        ] as const
        const first = order === 'the reply comes first' ? begin : ([begin[1], begin[0]] as const)
        const said = await Promise.all(first.map((act) => act()))
        await t.sw.idle()

        // THEN the question closed once, the run was queued once, and the reply was told the truth
        const closed = await t.of(run.sessionId, 'interaction.answered', 'interaction.expired')
        expect(closed).toHaveLength(1)
        expect(said).toContain(closed[0]?.kind === 'interaction.answered' ? 'accepted' : 'interaction_closed')
        const queued = (await t.moves(run.sessionId, run.runId)).filter((move) => move.includes('→ queued'))
        expect(queued).toHaveLength(1)
        expect(await t.status(run.runId)).toBe('succeeded')
      }),
    )
}
