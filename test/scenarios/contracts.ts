import { expect } from 'vitest'
import { z } from 'zod'
import { graphState } from '../../src/observation/graph-state.ts'
import type { ModelRequest } from '../../src/runtime/model.ts'
import { ask, call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { DidNotHappen } from '../../src/runtime/tools/tool.ts'
import { scenario } from '../support/scenario.ts'
import { counting, heldTool, on, refundTool } from './stage.ts'
import type { Store } from './stores.ts'

const refund = call('payments.refund', { order: '42', cents: 500 })
const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })

/** Specification 000: one contract for each action, its results, its trace, its suspension. */
export function contractPlays(store: Store) {
  scenario(
    'EC-01',
    'Creating a contract for tool call',
    on(
      store,
      () => ({ tools: [refundTool()], script: [refund, say('Done.')] }),
      async ({ run, of, runes }) => {
        // GIVEN a model whose answer calls a tool
        // WHEN the answer is read
        const { sessionId } = await run()

        // THEN there is one contract for the call, of type tool_call, with an id of its own
        const [opened, ...others] = await of(sessionId, 'contract.opened')
        expect(others).toEqual([])
        expect(opened).toMatchObject({
          actor: 'reasoning',
          from: null,
          to: 'pending',
          payload: {
            action_type: 'tool_call',
            action_summary: 'payments.refund',
            action_detail: { service: 'payments', method: 'refund', args: { order: '42', cents: 500 } },
            irreversible: true,
          },
        })
        expect(opened?.execution_id).toMatch(/^exe_/)

        // AND at that moment it is pending, among the pending executions of the graph
        const then = graphState(await runes(sessionId), { atEventId: opened?.event_id ?? 0 })
        expect(then.pending_executions).toMatchObject([
          { execution_id: opened?.execution_id, current_status: 'pending', transition_count: 0 },
        ])
      },
    ),
  )

  scenario(
    'EC-01',
    'Each call of an answer gets a contract of its own',
    on(
      store,
      () => ({
        tools: [counting({ name: 'look', input: z.object({}), readOnly: true, run: () => 'seen' })],
        script: [together(call('look'), call('look'), call('look')), say('Done.')],
      }),
      async ({ run, of, snapshots }) => {
        // GIVEN an answer with three calls, all alike
        const { sessionId } = await run()
        // THEN there are three contracts with three ids, and three calls with one each
        const all = await snapshots(sessionId)
        expect(all.map((s) => s.current_status)).toEqual(['completed', 'completed', 'completed'])
        expect(new Set(all.map((s) => s.execution_id)).size).toBe(3)
        const calls = await of(sessionId, 'tool.call')
        expect(calls.map((rune) => rune.execution_id)).toEqual(all.map((s) => s.execution_id))
      },
    ),
  )

  scenario(
    'EC-02',
    'Creating a contract for ECS request',
    on(
      store,
      () => ({ script: [form, say('Done.')] }),
      async ({ run, of, runes }) => {
        // GIVEN a model that hands a step to a person
        // WHEN its answer is read
        const { sessionId } = await run()

        // THEN there is a contract of type ecs_request, and no tool is involved
        const [opened] = await of(sessionId, 'contract.opened')
        expect(opened?.payload).toMatchObject({
          action_type: 'ecs_request',
          action_summary: 'Which size?',
          action_detail: { type: 'form', name: 'ask_person' },
          irreversible: false,
        })
        expect(await of(sessionId, 'tool.call', 'tool.result')).toEqual([])

        // AND at that moment it is pending, among the pending executions of the graph
        const then = graphState(await runes(sessionId), { atEventId: opened?.event_id ?? 0 })
        expect(then.pending_executions).toMatchObject([
          { execution_id: opened?.execution_id, current_status: 'pending', action_type: 'ecs_request' },
        ])
      },
    ),
  )

  scenario(
    'EC-06',
    'ToolNode reports success via contract',
    on(
      store,
      () => ({ tools: [refundTool()], script: [refund, say('Done.')] }),
      async ({ world, run, of, snapshots }) => {
        // GIVEN a tool that returns
        const at = world.hand.clock.now()
        const { sessionId } = await run()

        // THEN the contract is completed and holds what the tool returned
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'completed', result: { refund: 'r-42' }, error_message: null },
        ])
        // AND who moved it, and when, is on record
        expect((await of(sessionId, 'contract.moved')).at(-1)).toMatchObject({
          trigger: 'succeed',
          actor: 'tool_node',
          actor_category: 'tool',
          at,
        })
      },
    ),
  )

  scenario(
    'EC-07',
    'ToolNode reports failure via contract',
    on(
      store,
      () => ({
        tools: [
          refundTool({
            run() {
              throw Object.assign(new DidNotHappen('The bank said no.'), { code: 'declined' })
            },
          }),
          counting({ name: 'later', input: z.object({}), run: () => Promise.reject(new Error('Not today.')) }),
        ],
        script: [refund, call('later'), say('Sorry.')],
      }),
      async ({ run, of, snapshots }) => {
        // GIVEN one tool that throws and one whose promise is rejected
        const { sessionId } = await run()

        // THEN both contracts failed, and say why
        expect(await snapshots(sessionId)).toMatchObject([
          { current_status: 'failed', error_message: 'The bank said no.', result: null, last_actor: 'tool_node' },
          { current_status: 'failed', error_message: 'Not today.', result: null, last_actor: 'tool_node' },
        ])
        const moves = await of(sessionId, 'contract.moved')
        expect(moves.filter((move) => move.trigger === 'fail')).toMatchObject([
          { actor: 'tool_node', payload: { error_kind: 'declined' } },
          { actor: 'tool_node', payload: { error_kind: 'thrown' } },
        ])
        // AND the run went on: a failed call is something for the model to deal with
        expect(await of(sessionId, 'turn.completed')).toHaveLength(1)
      },
    ),
  )

  scenario(
    'EC-08',
    'ReasoningNode reads structured contract status',
    on(store, failuresAndSuccesses, async ({ run, snapshots }, { requests }) => {
      // GIVEN a success whose output looks like a failure, and a failure
      const { sessionId } = await run()

      // WHEN reasoning gets control again
      const told = requests.at(-1)?.messages.filter((message) => message.role === 'tool')

      // THEN what it learns is the status, the result and the error of each contract
      const [first, second] = await snapshots(sessionId)
      expect(told).toMatchObject([
        {
          consequence: {
            execution_id: first?.execution_id,
            consequence_label: 'SUCCESS',
            result: first?.result,
            error_message: null,
          },
        },
        {
          consequence: {
            execution_id: second?.execution_id,
            consequence_label: 'FAILED',
            result: null,
            error_message: 'There is no such order.',
          },
        },
      ])
    }),
  )

  scenario(
    'EC-09',
    'Recording a state transition',
    on(
      store,
      () => ({ tools: [refundTool()], script: [refund, say('Done.')] }),
      async ({ world, run, runes, snapshots }) => {
        // GIVEN a contract that starts and succeeds
        const { sessionId } = await run()
        const [{ execution_id } = { execution_id: '' }] = await snapshots(sessionId)

        // THEN each move is a step of the trace: actor, trigger, from, to, time
        const timestamp = world.hand.clock.now()
        const metadata = (trigger: string | null, actor: string) => ({
          trigger,
          actor,
          contract_id: execution_id,
          irreversible: true,
          waiting_reason: null,
          error_kind: null,
          interaction_id: null,
        })
        expect(graphState(await runes(sessionId)).execution_trace).toEqual([
          {
            node_id: 'reasoning',
            action: `create_contract:${execution_id}`,
            timestamp,
            result: null,
            metadata: metadata(null, 'reasoning'),
          },
          {
            node_id: 'tool_node',
            action: `transition:${execution_id}:pending→running`,
            timestamp,
            result: null,
            metadata: metadata('start', 'tool_node'),
          },
          {
            node_id: 'tool_node',
            action: `transition:${execution_id}:running→completed`,
            timestamp,
            result: '{"refund":"r-42"}',
            metadata: metadata('succeed', 'tool_node'),
          },
        ])
      },
    ),
  )

  scenario(
    'EC-10',
    'Trace available for diagnostic review',
    on(
      store,
      () => ({ tools: [refundTool({ approval: 'always' })], script: [refund, form, say('Done.')] }),
      async ({ world, run, runes, question, reply, of }) => {
        // GIVEN a conversation with a tool that was approved and a form that was filled in, and a restart in between
        const { sessionId } = await run()
        await reply((await question()).interaction_id, { decision: 'approve' })
        await world.restart()
        await reply((await question()).interaction_id, { action: 'approve', data: { size: 'L' } })

        // WHEN the trace is asked for
        const { execution_trace } = graphState(await runes(sessionId))

        // THEN every move of every contract is in it, each with the actor that fired it
        expect(execution_trace.map((step) => `${step.metadata.trigger} by ${step.node_id}`)).toEqual([
          'null by reasoning',
          'start by tool_node',
          'suspend by tool_node',
          'resume by graph_runner',
          'succeed by tool_node',
          'null by reasoning',
          'start by ecs_node',
          'suspend by ecs_node',
          'resume by graph_runner',
          'succeed by graph_runner',
        ])
        expect(execution_trace.filter((step) => step.metadata.trigger !== null)).toHaveLength(
          (await of(sessionId, 'contract.moved')).length,
        )
      },
    ),
  )

  scenario(
    'EC-13',
    'ECS request suspends execution',
    on(
      store,
      () => ({ script: [form, say('Done.')] }),
      async ({ world, run, runes, snapshots, of, status }) => {
        // GIVEN a step for a person
        // WHEN it is processed
        const { sessionId, runId } = await run()

        // THEN its contract went pending → running → waiting
        const moves = await of(sessionId, 'contract.moved')
        expect(moves.map(({ from, to, actor }) => [from, to, actor])).toEqual([
          ['pending', 'running', 'ecs_node'],
          ['running', 'waiting', 'ecs_node'],
        ])
        // AND the graph is suspended, the contract is part of its checkpoint, and no worker holds it
        const [contract] = await snapshots(sessionId)
        const checkpoint = graphState(await runes(sessionId))
        expect(checkpoint).toMatchObject({
          status: 'suspended',
          pending_executions: [],
          completed_executions: [{ execution_id: contract?.execution_id, current_status: 'waiting' }],
          expected_waiting: [contract?.execution_id],
        })
        expect(await status(runId)).toBe('waiting_user')

        // AND that is what another process finds
        await world.restart()
        const found = graphState(await runes(sessionId), { atEventId: checkpoint.event_id })
        expect(found).toEqual(checkpoint)
        expect(graphState(await runes(sessionId))).toMatchObject({
          status: 'suspended',
          expected_waiting: checkpoint.expected_waiting,
        })
      },
    ),
  )

  scenario(
    'EC-13',
    'A step for a person does not hold up the calls beside it',
    on(
      store,
      () => {
        const slow = heldTool({ name: 'slow' })
        return { slow, tools: [slow], script: [together(form, call('slow')), say('Done.')] }
      },
      async ({ world, submit, snapshots, status }, { slow }) => {
        // GIVEN one answer that asks a person and calls a tool
        const { sessionId, runId } = await submit()
        await slow.hasBegun()
        // THEN the tool runs first, and the person is asked when it is done
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['pending', 'running'])
        slow.begun[0]?.resolve('ok')
        await world.sw.idle()
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['waiting', 'completed'])
        expect(await status(runId)).toBe('waiting_user')
      },
    ),
  )
}

/** A success whose output says that it failed, and a failure. */
function failuresAndSuccesses() {
  const requests: ModelRequest[] = []
  const model = scriptedModel((request, answered) => {
    requests.push(structuredClone(request))
    return [refund, call('payments.refund', { order: '43', cents: 1 }), say('Done.')][answered] ?? say('?')
  })
  const run = ({ order }: { order: string }) => {
    if (order === '43') throw new DidNotHappen('There is no such order.')
    return 'ERROR: status FAILED'
  }
  return { requests, model, tools: [refundTool({ run })] }
}
