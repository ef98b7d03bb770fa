import { ask, call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { openHouse, type Snapshot } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()
const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })

interface Graph {
  readonly event_id: number
  readonly status: string
  readonly pending_executions: readonly Snapshot[]
  readonly completed_executions: readonly Snapshot[]
  readonly expected_waiting: readonly string[]
}

const graphOf = (session_id: string, at?: number) =>
  house.get<Graph>(`/api/sessions/${session_id}/graph${at === undefined ? '' : `?at=${at}`}`)

scenario(
  'EC-01',
  'each tool call opens a contract of its own: tool_call, pending, among the pending executions',
  async () => {
    // GIVEN an answer with three calls, all alike, that are carried out one after the other
    const gate = house.gate()
    const { run_id, session_id } = await house.submit([
      together(...Array(3).fill(call('work', { until: gate, order: '42' }))),
      say('Done.'),
    ])
    await expect.poll(async () => (await house.runes(session_id, 'contract.opened')).length).toBe(3)
    const opened = await house.runes(session_id, 'contract.opened')
    const ids = opened.map(({ execution_id }) => execution_id)
    expect(new Set(ids).size).toBe(3)
    // WHEN one looks at the graph at the moment in which each was opened
    for (const [n, { event_id, actor, payload }] of opened.entries()) {
      expect({ actor, payload }).toMatchObject({
        actor: 'reasoning',
        payload: { action_type: 'tool_call', action_detail: { args: { order: '42' } } },
      })
      // THEN it is pending, with nothing done to it, among those that were opened before
      const { pending_executions } = await graphOf(session_id, event_id)
      expect(pending_executions.map(({ execution_id }) => execution_id)).toEqual(ids.slice(0, n + 1))
      expect(pending_executions.at(-1)).toMatchObject({
        execution_id: ids[n],
        action_type: 'tool_call',
        action_summary: 'work',
        current_status: 'pending',
        transition_count: 0,
      })
    }
    // AND when all are over, none is listed as pending any more
    house.open(gate)
    await house.ends(run_id)
    const over = await graphOf(session_id)
    expect(over.pending_executions).toEqual([])
    expect(over.completed_executions.map(({ current_status }) => current_status)).toEqual(Array(3).fill('completed'))
  },
)

scenario(
  'EC-02',
  'a step that the model hands to a person opens a contract: ecs_request, pending and listed',
  async () => {
    const { run_id, session_id } = await house.submit([form, say('Done.')])
    const { execution_id } = await house.asksOne(run_id)
    const [opened, ...others] = await house.runes(session_id, 'contract.opened')
    expect(others).toEqual([])
    expect(opened).toMatchObject({
      execution_id,
      payload: { action_type: 'ecs_request', action_summary: 'Which size?' },
    })
    expect(await house.runes(session_id, 'tool.call')).toEqual([])
    const { pending_executions } = await graphOf(session_id, opened?.event_id)
    expect(pending_executions).toMatchObject([
      { execution_id, action_type: 'ecs_request', current_status: 'pending', transition_count: 0 },
    ])
  },
)

scenario(
  'EC-13',
  'a step for a person starts and suspends its contract, suspends the graph, and is checkpointed',
  async () => {
    const { run_id, session_id } = await house.submit([form, say('Done.')])
    const { execution_id } = await house.asksOne(run_id)
    // THEN its contract went pending → running → waiting
    const { transitions } = await house.timeline(session_id)
    expect(transitions.map(({ from_status, to_status, actor }) => [from_status, to_status, actor])).toEqual([
      ['pending', 'running', 'ecs_node'],
      ['running', 'waiting', 'ecs_node'],
    ])
    // AND the graph is suspended, and expects exactly that contract to wait
    const suspended = await graphOf(session_id)
    expect(suspended).toMatchObject({
      status: 'suspended',
      pending_executions: [],
      completed_executions: [{ execution_id, current_status: 'waiting' }],
      expected_waiting: [execution_id],
    })
    // AND that is what a process finds that begins after the first was killed, over HTTP and from the command line
    await house.killed()
    const timeless = (graph: Graph) => ({
      ...graph,
      completed_executions: graph.completed_executions.map(({ duration_in_state_ms: _, ...rest }) => rest),
    })
    const found = await graphOf(session_id)
    expect(timeless(found)).toEqual(timeless(suspended))
    const printed = await house.cli('show', session_id, '--graph', '--json')
    expect(JSON.parse(printed.out)).toMatchObject({ status: 'suspended', expected_waiting: [execution_id] })
    expect(await house.run(run_id)).toMatchObject({ status: 'waiting_user' })
  },
)
