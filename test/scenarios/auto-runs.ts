import { expect } from 'vitest'
import { breakOff, call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { form, formWithDefault, refund } from './props.ts'
import type { Store } from './stores.ts'
import { heldTool, lookUp, on, plays } from './theatre.ts'

/** Specification 004: a run that may not ask a person is a run like every other. */
export function autoRunPlays(store: Store) {
  const held = heldTool('slow.work')
  scenario(
    'RU-06',
    'an auto run ends as succeeded, failed or canceled and never waits',
    on(
      store,
      {
        agents: {
          main: plays([form, formWithDefault, call('payments.refund', { order: '42' }), say('Done.')], {
            tools: [refund().tool],
          }),
          broken: plays([breakOff('no such model', { retryable: false })]),
          slow: plays([call('slow.work'), say('Done.')], { tools: [held.tool] }),
        },
      },
      async (t) => {
        // WHEN one auto run meets everything that would make a person necessary, one breaks, and one is stopped
        const mode = 'auto'
        const succeeded = await t.run({ mode })
        const failed = await t.run({ mode, agent: 'broken' })
        const canceled = await t.sw.runs.start({ mode, agent: 'slow', input: 'Go.' })
        await held.hasBegun()
        await canceled.cancel('enough')
        held.begun[0]?.resolve('late')
        await t.sw.idle()

        // THEN they have the three ends that every run has, and none of them ever waited
        const runs = [succeeded, failed, canceled]
        expect(await Promise.all(runs.map((run) => t.status(run.runId)))).toEqual(['succeeded', 'failed', 'canceled'])
        for (const { sessionId, runId } of runs)
          expect((await t.moves(sessionId, runId)).join()).not.toContain('waiting_user')

        // AND what would have needed a person was decided without one: defaults, or a refusal that the model sees
        const ends = (await t.of(succeeded.sessionId, 'contract.moved')).filter((r) => r.from === 'running')
        expect(ends.map((r) => r.to)).toEqual(['rejected', 'completed', 'rejected'])
        expect(await t.of(succeeded.sessionId, 'tool.denied')).toHaveLength(1)
        expect(await t.sw.inbox.list()).toEqual([])

        // AND the protocol tells each end in the same way
        const lasts = await Promise.all(runs.map(async (run) => (await t.fcmp(run.sessionId, run.runId)).at(-1)?.data))
        expect(lasts).toMatchObject([
          { from: 'running', to: 'succeeded', trigger: 'turn.succeeded', terminal: { status: 'succeeded' } },
          {
            from: 'running',
            to: 'failed',
            trigger: 'turn.failed',
            terminal: { status: 'failed', error: { category: 'run', code: 'SCRIPTED_ERROR' } },
          },
          { from: 'running', to: 'canceled', trigger: 'run.canceled', terminal: { status: 'canceled' } },
        ])
      },
    ),
  )

  scenario(
    'RU-06',
    'the stream of an auto run and of an interactive one that asks nothing are the same',
    on(
      store,
      { agents: { main: plays([call('shop.look_up', { order: 1 }), say('Done.')], { tools: [lookUp] }) } },
      async (t) => {
        // WHEN the same job runs in both modes
        const auto = await t.run({ mode: 'auto' })
        const interactive = await t.run({ mode: 'interactive' })

        // THEN a client that follows them cannot tell which is which
        const told = async ({ sessionId, runId }: typeof auto) =>
          (await t.fcmp(sessionId, runId)).map(({ type, data, meta, seq }) => ({
            seq,
            type,
            meta,
            data: { ...data, message_id: undefined },
          }))
        expect(await told(auto)).toEqual(await told(interactive))
        expect(await told(auto)).toHaveLength(3)
      },
    ),
  )

  const paying = refund()
  scenario(
    'RU-06',
    'what was approved beforehand runs in auto mode as well',
    on(
      store,
      {
        policy: { mode: 'auto', preApproved: ['payments.refund'] },
        agents: { main: plays([call('payments.refund', { order: '7' }), say('Done.')], { tools: [paying.tool] }) },
      },
      async (t) => {
        // WHEN an auto run calls a tool that a person approved in the policy
        const run = await t.run({ mode: 'auto' })

        // THEN it ran once, and the record says who approved it
        expect(paying.paid.slice(-1)).toEqual(['7'])
        expect(await t.of(run.sessionId, 'tool.approved')).toMatchObject([{ payload: { approver: 'policy' } }])
        expect(await t.status(run.runId)).toBe('succeeded')
      },
    ),
  )
}
