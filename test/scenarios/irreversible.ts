import { expect } from 'vitest'
import { agent } from '../../src/runtime/define-agent.ts'
import type { ModelRequest } from '../../src/runtime/model.ts'
import { call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { DidNotHappen } from '../../src/runtime/tools/tool.ts'
import { scenario } from '../support/scenario.ts'
import { createGate } from './gate.ts'
import { heldTool, on, play, refundTool } from './stage.ts'
import type { Store } from './stores.ts'

const refund = call('payments.refund', { order: '42', cents: 500 })

/** The same action, however the model spells it. */
const respelled = call('payments.refund', '{ "cents": 500.0, "order": "42" }')

/** Specification 000, Irreversible Operation Protection. */
export function irreversiblePlays(store: Store) {
  scenario(
    'EC-11',
    'Blocking duplicate irreversible execution',
    on(
      store,
      () => listening(refund, respelled, say('It was done before.')),
      async ({ run, of, snapshots, status }, { tool, requests }) => {
        // GIVEN an irreversible contract that has completed
        // WHEN the same action is asked for again
        const { sessionId, runId } = await run()

        // THEN no second contract exists, and nothing was done twice
        const contracts = await snapshots(sessionId)
        expect(contracts).toMatchObject([{ current_status: 'completed', irreversible: true }])
        expect(tool.ran).toHaveLength(1)

        // AND reasoning is told by which execution it was done, and with what result
        const told = requests.at(-1)?.messages.at(-1)
        expect(told).toMatchObject({ role: 'tool', consequence: { consequence_label: 'REJECTED' } })
        const { error_message } = (told as { consequence: { error_message: string } }).consequence
        expect(error_message).toContain(`already completed as ${contracts[0]?.execution_id}`)
        expect(error_message).toContain('{"refund":"r-42"}')

        // AND the refused call has its one result, and the run went on
        expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['success', 'denied'])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'EC-11',
    'The same irreversible action twice in one answer is started once',
    on(
      store,
      () => listening(together(refund, respelled), say('Done.')),
      async ({ run, of, snapshots }, { tool }) => {
        // GIVEN one answer with the same action twice
        const { sessionId } = await run()
        // THEN the first has the key and the second is refused
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed' }])
        const results = await of(sessionId, 'tool.result')
        expect(results.map((rune) => rune.payload.status).sort()).toEqual(['denied', 'success'])
        expect(tool.ran).toHaveLength(1)
      },
    ),
  )

  scenario(
    'EC-11',
    'The same irreversible action in two runs of a session is started once, also after a restart',
    on(
      store,
      () => listening(refund, say('Done.'), refund, say('It was done before.')),
      async ({ world, run, of, snapshots }, { tool }) => {
        // GIVEN a run that did it, and another process
        const { sessionId } = await run()
        await world.restart()
        // WHEN the next run of the session asks for it
        await run({ sessionId })
        // THEN it is refused
        expect(await snapshots(sessionId)).toHaveLength(1)
        expect((await of(sessionId, 'tool.denied'))[0]?.payload.reason).toContain('already completed')
        expect(tool.ran).toHaveLength(1)
      },
    ),
  )

  scenario(
    'EC-11',
    'A key belongs to its session unless the tool says that it is global',
    on(
      store,
      () => {
        const own = refundTool({ name: 'own.refund' })
        const shared = refundTool({ name: 'shared.refund', keyScope: 'global' })
        const args = { order: '42', cents: 500 }
        return {
          own,
          shared,
          tools: [own, shared],
          script: [together(call('own.refund', args), call('shared.refund', args)), say('Done.')],
        }
      },
      async ({ run, of, snapshots }, { own, shared }) => {
        // GIVEN one session that did both
        const first = await run()
        // WHEN another session asks for both
        const second = await run()
        // THEN the one whose key is its session's is done again, and the one whose key is global is not
        expect(await snapshots(second.sessionId)).toMatchObject([
          { action_summary: 'own.refund', current_status: 'completed' },
        ])
        expect([own.ran.length, shared.ran.length]).toEqual([2, 1])
        const [, done] = await snapshots(first.sessionId)
        const [denied] = await of(second.sessionId, 'tool.denied')
        expect(denied?.payload.reason).toContain(`already completed as ${done?.execution_id}`)
        // AND what the other session got for it is not told here
        expect(denied?.payload.reason).not.toContain('r-42')
      },
    ),
  )

  scenario(
    'EC-11',
    'Two sessions that ask for the same global action at the same moment start it once',
    on(
      store,
      () => {
        const shared = heldTool({ name: 'shared', irreversible: true, keyScope: 'global' })
        // Both answers are held back until both sessions wait for theirs.
        const bothAsk = Promise.withResolvers<void>()
        let asking = 0
        const model = scriptedModel([{ ...call('shared'), text: 'Now.' }, say('Done.')], {
          beforeDelta: () => (++asking === 2 ? bothAsk.resolve() : asking < 2 ? bothAsk.promise : undefined),
        })
        return { ...createGate(), shared, model, tools: [shared] }
      },
      async ({ world, submit, of, status }, { shared, refused }) => {
        // GIVEN two sessions whose models ask for it at once
        const runs = [await submit(), await submit()]
        // WHEN both are read
        await shared.hasBegun()
        const [loser] = await Promise.race(runs.map(async (r) => (await r.result()) && [r]))
        // THEN one has begun and the other was refused, without harm to either
        expect(await of(loser?.sessionId ?? '', 'tool.denied')).toHaveLength(1)
        expect(await status(loser?.runId ?? '')).toBe('succeeded')
        shared.begun[0]?.resolve('done')
        await world.sw.idle()
        expect(shared.ran).toHaveLength(1)
        // A store that answers one after the other may show the loser the key before it asks for it.
        expect(store.is_in_step === false ? [[], ['key_taken']] : [['key_taken']]).toContainEqual(refused)
        for (const { runId } of runs) expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'EC-11',
    'An action that is under way is not started a second time',
    on(
      store,
      () => {
        const slow = heldTool({ name: 'deploy', irreversible: true })
        const worker = (role: string) =>
          agent({ role, model: scriptedModel([call('deploy'), say('Done.')]), tools: [slow] })
        return { slow, agents: { support: worker('support'), ops: worker('ops') } }
      },
      async ({ world, submit, of, snapshots, status }, { slow }) => {
        // GIVEN an agent that is carrying it out
        const { sessionId } = await submit()
        await slow.hasBegun()
        // WHEN another agent of the session asks for it
        const other = await submit({ agent: 'ops', sessionId })
        await other.result()
        // THEN that one is told that it is under way
        const [contract] = await snapshots(sessionId)
        const [denied] = await of(sessionId, 'tool.denied')
        expect(denied?.payload.reason).toContain(`already under way as ${contract?.execution_id}`)
        expect(await status(other.runId)).toBe('succeeded')
        slow.begun[0]?.resolve('done')
        await world.sw.idle()
        expect(slow.ran).toHaveLength(1)
      },
    ),
  )

  scenario(
    'EC-12',
    'Allowing retry after failure',
    on(
      store,
      () => {
        let times = 0
        const run = () => {
          if (++times === 1) throw new DidNotHappen('The bank was closed.')
          return 'paid'
        }
        const tool = refundTool({ run })
        return { tool, tools: [tool], script: [refund, refund, say('Done.'), refund, say('It was done before.')] }
      },
      async ({ run, of, snapshots }, { tool }) => {
        // GIVEN an irreversible contract that failed
        // WHEN the same action is asked for again, and again when it has succeeded
        const { sessionId } = await run()
        await run({ sessionId })
        // THEN a new contract with a new id is created for it, and only a success ends that
        const [first, second, ...more] = await snapshots(sessionId)
        expect(more).toEqual([])
        expect(first).toMatchObject({ current_status: 'failed', idempotency_key: second?.idempotency_key })
        expect(second).toMatchObject({ current_status: 'completed', result: 'paid' })
        expect(second?.execution_id).not.toBe(first?.execution_id)
        expect(tool.ran).toHaveLength(2)
        expect(await of(sessionId, 'tool.denied')).toHaveLength(1)
      },
    ),
  )

  scenario(
    'EC-12',
    'What was refused or withdrawn may be asked for again',
    on(
      store,
      () => {
        const tool = refundTool({ approval: 'always' })
        return { tool, tools: [tool], script: [refund, say('A pity.'), refund, refund, say('Done.')] }
      },
      async ({ world, run, question, reply, snapshots }, { tool }) => {
        // GIVEN the action refused by a person
        const { sessionId } = await run()
        await reply((await question()).interaction_id, { decision: 'deny' })
        // AND asked for again, and withdrawn with its run
        const second = await run({ sessionId })
        await world.sw.runs.cancel(second.runId)
        // WHEN it is asked for once more
        await run({ sessionId })
        // THEN a person may approve it
        await reply((await question()).interaction_id, { decision: 'approve' })
        const contracts = await snapshots(sessionId)
        expect(contracts.map((s) => s.current_status)).toEqual(['rejected', 'cancelled', 'completed'])
        expect(tool.ran).toHaveLength(1)
      },
    ),
  )

  play(
    'irreversible: after allow-again the next call is let through, and the one after it is not',
    on(
      store,
      () => listening(refund, say('Done.'), refund, say('Done again.'), refund, say('Not again.')),
      async ({ world, run, snapshots, of }, { tool }) => {
        // GIVEN an irreversible action that was done
        const { sessionId } = await run()
        const [first] = await snapshots(sessionId)
        // WHEN a person allows it once more
        await world.sw.executions.allowAgain(first?.execution_id ?? '', 'ada')
        await world.restart()
        await run({ sessionId })
        // THEN it is done once more, under a key of its own, and not a third time
        await run({ sessionId })
        const contracts = await snapshots(sessionId)
        expect(contracts.map((s) => s.current_status)).toEqual(['completed', 'completed'])
        expect(contracts[1]?.idempotency_key).not.toBe(first?.idempotency_key)
        expect(tool.ran).toHaveLength(2)
        expect(await of(sessionId, 'tool.denied')).toHaveLength(1)
        // AND what was not done cannot be allowed again
        const unknown = world.sw.executions.allowAgain('exe_none', 'ada')
        await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
      },
    ),
  )

  play(
    'idempotency key: the key function says which calls are one action, and a call whose key function throws is not run',
    on(
      store,
      () => {
        const tool = refundTool({
          key: ({ order }) => {
            if (order === '') throw new Error('An order has a number.')
            return order
          },
        })
        const script = [
          together(refund, call('payments.refund', { order: '42', cents: 100 })),
          call('payments.refund', { order: '', cents: 1 }),
          say('Done.'),
        ]
        return { tool, tools: [tool], script }
      },
      async ({ run, of, snapshots, status }, { tool }) => {
        // GIVEN a tool whose key is the order alone
        const { sessionId, runId } = await run()
        // THEN another amount is the same action, and an order without a number is no action at all
        expect(tool.ran).toEqual([{ order: '42', cents: 500 }])
        expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload.status).sort()).toEqual([
          'denied',
          'error',
          'success',
        ])
        const [, broken] = await snapshots(sessionId)
        expect(broken).toMatchObject({
          current_status: 'failed',
          error_message: expect.stringContaining('An order has a number.'),
        })
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )
}

/** An agent with the usual tool, and everything its model was told. */
function listening(...script: readonly Scripted[]) {
  const requests: ModelRequest[] = []
  const tool = refundTool()
  const model = scriptedModel((request, answered) => {
    requests.push(structuredClone(request))
    return script[answered] ?? say('?')
  })
  return { requests, tool, tools: [tool], model }
}
