import { ask, call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { type Data, openHouse } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

interface Topology {
  readonly nodes: readonly (Data & { status: string })[]
  readonly edges: readonly { from_status: string; to_status: string; trigger: string }[]
  readonly forbidden_transitions: readonly { from_status: string; to_status: string; reason: string }[]
  readonly resumable_statuses: readonly string[]
}

scenario('OB-01', 'the snapshot of a pending contract shows its kind, its flags and no transitions', async () => {
  // GIVEN two calls that are carried out one after the other, and the first at work
  const gate = house.gate()
  const { run_id, session_id } = await house.submit([
    together(call('work', { until: gate }), call('work', { n: 2 })),
    say('Done.'),
  ])
  await expect.poll(async () => (await house.runes(session_id, 'contract.opened')).length).toBe(2)
  const [first, second] = (await house.timeline(session_id)).contracts
  await house.begins(first?.execution_id ?? '')
  // WHEN a snapshot of the second is asked for, THEN it says that nothing has happened to it yet
  expect(await house.snapshot(second?.execution_id ?? '')).toMatchObject({
    current_status: 'pending',
    is_terminal: false,
    is_stable: false,
    is_resumable: false,
    transition_count: 0,
    action_summary: 'work',
    last_trigger: null,
    last_actor: null,
  })
  house.open(gate)
  await house.ends(run_id)
  expect(await house.snapshot(second?.execution_id ?? '')).toMatchObject({ transition_count: 2 })
})

scenario(
  'OB-02',
  'the snapshot of a waiting irreversible contract: stable, resumable, side effects, since when, by whom',
  async () => {
    const { run_id, session_id } = await house.submit([call('pay.asked', { order: 2 }), say('Done.')])
    const { execution_id } = await house.asksOne(run_id)
    const [suspended] = (await house.timeline(session_id)).transitions.filter((move) => move.trigger === 'suspend')
    const look = async () => {
      const before = Date.now()
      const seen = await house.snapshot(execution_id ?? '')
      return { seen, before, after: Date.now() }
    }
    const { seen } = await look()
    expect(seen).toMatchObject({
      current_status: 'waiting',
      irreversible: true,
      is_stable: true,
      is_resumable: true,
      is_terminal: false,
      has_side_effects: true,
      last_trigger: 'suspend',
      last_actor: 'tool_node',
      entered_at: suspended?.timestamp,
    })
    // AND the time that it has waited is the time that has passed since it was suspended, and grows
    const waited = async () => {
      const { seen, before, after } = await look()
      const [least, most] = [before, after].map((at) => at - (suspended?.timestamp ?? 0))
      const duration = Number(seen.duration_in_state_ms)
      expect(duration).toBeGreaterThanOrEqual(least ?? 0)
      expect(duration).toBeLessThanOrEqual(most ?? 0)
      return duration
    }
    const first = await waited()
    await expect.poll(waited).toBeGreaterThan(first + 20)
  },
)

scenario('OB-03', 'the snapshot of a terminal contract shows that it is over, and its result', async () => {
  const { run_id } = await house.submit([call('pay.asked', { order: 3, result: { refund: 'r-3' } }), say('Done.')])
  const question = await house.asksOne(run_id)
  await house.approve(question)
  await house.ends(run_id)
  const seen = await house.snapshot(question.execution_id ?? '')
  expect(seen).toMatchObject({
    current_status: 'completed',
    is_terminal: true,
    is_stable: true,
    is_resumable: false,
    result: { refund: 'r-3' },
  })
})

scenario(
  'OB-04',
  'the consequence of a completed irreversible action: SUCCESS, side effects, whether it was suspended',
  async () => {
    const { run_id, session_id } = await house.submit([
      call('pay.asked', { order: 4, result: { refund: 'r-4' } }),
      call('pay', { order: 4 }),
      say('Done.'),
    ])
    await house.approve(await house.asksOne(run_id))
    await house.ends(run_id)
    const [asked, straight] = (await house.timeline(session_id)).contracts
    // GIVEN one that went waiting → running → completed, and one that never waited
    expect(await house.consequence(asked?.execution_id ?? '')).toMatchObject({
      consequence_label: 'SUCCESS',
      has_side_effects: true,
      was_suspended: true,
      is_still_pending: false,
      result: { refund: 'r-4' },
      action_summary: 'pay.asked',
      error_message: null,
    })
    expect(await house.consequence(straight?.execution_id ?? '')).toMatchObject({
      consequence_label: 'SUCCESS',
      has_side_effects: true,
      was_suspended: false,
    })
  },
)

scenario('OB-05', 'the consequence of a failed action: FAILED, with the reason', async () => {
  const { run_id, session_id } = await house.submit([call('pay', { declined: 'The bank is closed.' }), say('Sorry.')])
  await house.ends(run_id)
  const [contract] = (await house.timeline(session_id)).contracts
  expect(await house.consequence(contract?.execution_id ?? '')).toMatchObject({
    consequence_label: 'FAILED',
    was_suspended: false,
    is_still_pending: false,
    error_message: 'The bank is closed.',
    result: null,
  })
})

scenario('OB-06', 'the consequence of a waiting contract: WAITING, still pending, no side effects so far', async () => {
  const { run_id } = await house.submit([call('pay.asked', { order: 6 }), say('Done.')])
  const { execution_id } = await house.asksOne(run_id)
  expect(await house.consequence(execution_id ?? '')).toMatchObject({
    consequence_label: 'WAITING',
    is_still_pending: true,
    has_side_effects: false,
  })
  expect(house.effects(execution_id ?? '')).toEqual([])
})

scenario(
  'OB-08',
  'before resuming a snapshot is taken and the waiting contracts are counted; work goes on',
  async () => {
    const { run_id, session_id } = await house.submit([form, say('Done.')])
    const question = await house.asksOne(run_id)
    const replied = await house.answer(question, sized, { expected_waiting: [question.execution_id] })
    expect(replied).toMatchObject({
      is_aligned: true,
      snapshot: { execution_id: question.execution_id, current_status: 'waiting', is_resumable: true },
    })
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
    expect(await house.runes(session_id, 'run.misaligned')).toEqual([])
  },
)

scenario(
  'OB-09',
  'another number than expected is logged, and work goes on where the contract itself is valid',
  async () => {
    const { run_id, session_id } = await house.submit([together(form, form), say('Done.')])
    const [first, second] = await house.asks(run_id)
    if (first === undefined || second === undefined) throw new Error('It does not ask two things.')
    // GIVEN somebody who expects one waiting contract where there are two
    const replied = await house.answer(first, sized, { expected_waiting: [first.execution_id] })
    expect(replied).toMatchObject({ is_aligned: false })
    // THEN the difference is on record and in the log of the server
    const difference = { expected: [first.execution_id], found: [first.execution_id, second.execution_id] }
    expect(await house.runes(session_id, 'run.misaligned')).toMatchObject([{ payload: difference }])
    await expect
      .poll(() => house.log().out + house.log().err)
      .toContain('the number of waiting contracts is not the expected one')
    expect(house.log().out + house.log().err).toContain(second.execution_id ?? 'nothing')
    // AND the first went on all the same
    await expect
      .poll(async () => (await house.timeline(session_id)).contracts.map((contract) => contract.current_status))
      .toEqual(['completed', 'waiting'])
    await house.answer(second, sized)
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
  },
)

scenario(
  'OB-12',
  'the transitions of one execution, in order, each with ids, statuses, trigger, actor, category, time',
  async () => {
    const { run_id } = await house.submit([call('pay.asked', { order: 12 }), say('Done.')])
    const question = await house.asksOne(run_id)
    await house.approve(question)
    await house.ends(run_id)
    const execution_id = question.execution_id ?? ''
    const { transitions } = await house.get<{ transitions: readonly (Data & { timestamp: number })[] }>(
      `/api/execution/${execution_id}/transitions`,
    )
    const expected = [
      ['pending', 'running', 'start', 'tool_node', 'tool'],
      ['running', 'waiting', 'suspend', 'tool_node', 'tool'],
      ['waiting', 'running', 'resume', 'graph_runner', 'system'],
      ['running', 'completed', 'succeed', 'tool_node', 'tool'],
    ] as const
    expect(transitions).toMatchObject(
      expected.map(([from_status, to_status, trigger, actor, actor_category]) => ({
        execution_id,
        from_status,
        to_status,
        trigger,
        actor,
        actor_category,
      })),
    )
    const times = transitions.map(({ timestamp }) => timestamp)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.every((time) => time > 1_700_000_000_000)).toBe(true)
  },
)

scenario(
  'OB-13',
  'the timeline of a session merges snapshots and transitions of all its contracts, with counts',
  async () => {
    // GIVEN a tool call that completed and a step for a person that waits
    const { run_id, session_id } = await house.submit([call('work', { n: 13 }), form, say('Done.')])
    await house.asksOne(run_id)
    const seen = await house.timeline(session_id)
    expect(seen).toMatchObject({
      session_id,
      contracts: [
        { action_type: 'tool_call', current_status: 'completed' },
        { action_type: 'ecs_request', current_status: 'waiting' },
      ],
      total_contracts: 2,
      terminal_contracts: 1,
      active_contracts: 1,
      has_suspended: true,
    })
    expect(seen.contracts[0]?.created_at).toBeLessThanOrEqual(seen.contracts[1]?.created_at ?? 0)
    // AND the moves of both are one list, in the order of time
    const [call_id, form_id] = seen.contracts.map(({ execution_id }) => execution_id)
    expect(seen.transitions.map((move) => [move.execution_id, move.to_status])).toEqual([
      [call_id, 'running'],
      [call_id, 'completed'],
      [form_id, 'running'],
      [form_id, 'waiting'],
    ])
    const times = seen.transitions.map(({ timestamp }) => timestamp)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  },
)

scenario(
  'OB-14',
  'the topology has all states with their flags, all edges with triggers, and the resumable states',
  async () => {
    const { nodes, edges, resumable_statuses } = await house.get<Topology>('/api/execution/topology')
    const flags = (status: string) => {
      const { is_terminal, is_initial, is_stable, is_resumable } =
        nodes.find((node) => node.status === status) ?? ({} as Data)
      return { is_terminal, is_initial, is_stable, is_resumable }
    }
    expect(nodes).toHaveLength(7)
    const no = { is_terminal: false, is_initial: false, is_stable: false, is_resumable: false }
    expect(flags('pending')).toEqual({ ...no, is_initial: true })
    expect(flags('running')).toEqual(no)
    expect(flags('waiting')).toEqual({ ...no, is_stable: true, is_resumable: true })
    const ends = ['completed', 'failed', 'rejected', 'cancelled']
    for (const status of ends) expect(flags(status)).toEqual({ ...no, is_terminal: true, is_stable: true })
    expect(edges.map((edge) => `${edge.from_status} ${edge.trigger} ${edge.to_status}`).sort()).toEqual(
      [
        'pending start running',
        'running succeed completed',
        'running fail failed',
        'running reject rejected',
        'running suspend waiting',
        'running cancel cancelled',
        'waiting resume running',
        'waiting cancel cancelled',
        'waiting timeout cancelled',
      ].sort(),
    )
    expect(edges.filter((edge) => ends.includes(edge.from_status))).toEqual([])
    expect(resumable_statuses).toEqual(['waiting'])
  },
)

scenario('OB-15', 'the topology lists forbidden moves with reasons', async () => {
  const { forbidden_transitions, edges } = await house.get<Topology>('/api/execution/topology')
  const moves = forbidden_transitions.map(({ from_status, to_status }) => `${from_status} → ${to_status}`)
  expect(moves).toContain('completed → running')
  expect(moves).toContain('waiting → completed')
  for (const { reason } of forbidden_transitions) expect(reason).toMatch(/\w+ \w+/)
  // AND none of them is allowed elsewhere
  const allowed = edges.map(({ from_status, to_status }) => `${from_status} → ${to_status}`)
  expect(moves.filter((move) => allowed.includes(move))).toEqual([])
})

scenario('OB-16', 'the topology can be fetched over HTTP and cached', async () => {
  const first = await house.ask<Topology>('GET', '/api/execution/topology')
  expect(first).toMatchObject({ status: 200, body: { machine: 'contract' } })
  const etag = first.headers.get('etag') ?? ''
  expect(first.headers.get('cache-control')).toMatch(/max-age=[1-9]/)
  expect(etag).not.toBe('')
  const again = await house.ask('GET', '/api/execution/topology', { headers: { 'if-none-match': etag } })
  expect(again).toMatchObject({ status: 304, body: null })
  const other = await house.ask('GET', '/api/execution/topology', { headers: { 'if-none-match': '"other"' } })
  expect(other.status).toBe(200)
})

scenario('OB-17', 'every move of a contract is an execution_state event with its flags', async () => {
  const { run_id, session_id } = await house.submit([call('pay.asked', { order: 17 }), say('Done.')])
  const heard = house.stream(`/api/sessions/${session_id}/stream`, (all) => all.some(({ event }) => event === 'done'))
  const question = await house.asksOne(run_id)
  await house.approve(question)
  const events = (await heard).filter(({ event }) => event === 'execution_state').map(({ data }) => data.payload)
  const { transitions } = await house.timeline(session_id)
  // THEN there is one for each move, with all that the move is
  expect(events).toHaveLength(transitions.length)
  expect(events.map((event) => event.to_status)).toEqual(transitions.map((move) => move.to_status))
  expect(events.at(-1)).toMatchObject({
    execution_id: question.execution_id,
    action_summary: 'pay.asked',
    from_status: 'running',
    to_status: 'completed',
    trigger: 'succeed',
    actor_category: 'tool',
    is_terminal: true,
    is_resumable: false,
    has_side_effects: true,
    timestamp: transitions.at(-1)?.timestamp,
  })
  // AND the flags are those of where each move led: nothing has happened before the end
  expect(
    events.map(({ trigger, is_terminal, is_resumable, has_side_effects }) => [
      trigger,
      { is_terminal, is_resumable, has_side_effects },
    ]),
  ).toEqual([
    ['start', { is_terminal: false, is_resumable: false, has_side_effects: false }],
    ['suspend', { is_terminal: false, is_resumable: true, has_side_effects: false }],
    ['resume', { is_terminal: false, is_resumable: false, has_side_effects: false }],
    ['succeed', { is_terminal: true, is_resumable: false, has_side_effects: true }],
  ])
})

scenario('OB-19', 'the timeline of a session can be fetched over HTTP', async () => {
  const { run_id, session_id } = await house.submit([call('work', { n: 19 }), say('Done.')])
  await house.ends(run_id)
  const { status, body } = await house.ask<Data>('GET', `/api/execution/${session_id}/timeline`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    session_id,
    contracts: [{ current_status: 'completed' }],
    transitions: [{ to_status: 'running' }, { to_status: 'completed' }],
    total_contracts: 1,
    terminal_contracts: 1,
    active_contracts: 0,
    has_suspended: false,
  })
})

scenario('OB-20', 'the snapshot of one contract can be fetched over HTTP', async () => {
  const { run_id, session_id } = await house.submit([call('work', { n: 20 }), say('Done.')])
  await house.ends(run_id)
  const [contract] = (await house.timeline(session_id)).contracts
  const { status, body } = await house.ask<Data>('GET', `/api/execution/${contract?.execution_id}/snapshot`)
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { execution_id: contract?.execution_id, current_status: 'completed', is_terminal: true },
  })
})

scenario('OB-21', 'asking for a session that has no executions answers 404 and says why', async () => {
  // GIVEN a session that only talked, and one that there never was
  const { run_id, session_id } = await house.submit([say('Hello.')])
  await house.ends(run_id)
  for (const id of [session_id, 'ses_never_was']) {
    const { status, body } = await house.ask<Data>('GET', `/api/execution/${id}/timeline`)
    expect(status).toBe(404)
    expect(String(body.detail)).toContain(id)
  }
})
