import { ask, call, say, together } from 'statewright/testing'
import { expect, test } from 'vitest'
import { type Data, openHouse, type Question, type Snapshot } from './support/house.ts'

const house = openHouse()

const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

interface Moved extends Data {
  readonly trigger: string
  readonly execution_id: string
}

/** Everything that the server tells of the moves of one contract, view by view. */
async function viewsOf(session_id: string, run_id: string, execution_id: string) {
  const isOver = (heard: readonly { event: string }[]) => heard.some(({ event }) => event === 'done')
  const told = await house.stream(`/api/sessions/${session_id}/stream?after=0`, isOver)
  const events = told.flatMap(({ event, data }) => (event === 'execution_state' ? [data.payload as Moved] : []))
  const timeline = await house.timeline(session_id)
  const { steps } = await house.get<{ steps: readonly { metadata: Moved & { contract_id: string } }[] }>(
    `/api/runs/${run_id}/trace`,
  )
  const { transitions } = await house.get<{ transitions: readonly Moved[] }>(
    `/api/execution/${execution_id}/transitions`,
  )
  return {
    transitions,
    timeline: timeline.transitions.filter((move) => move.execution_id === execution_id) as unknown as readonly Moved[],
    trace: steps.flatMap(({ metadata }) => (metadata.contract_id === execution_id && metadata.trigger ? metadata : [])),
    execution_state: events.filter((move) => move.execution_id === execution_id),
  }
}

const why = ({ trigger, waiting_reason, error_kind, interaction_id }: Data) => [
  trigger,
  waiting_reason,
  error_kind,
  interaction_id,
]

async function inboxItem({ interaction_id }: Question): Promise<Data | undefined> {
  const { items } = await house.get<{ items: readonly Data[] }>('/api/inbox?limit=200')
  return items.find((item) => item.interaction_id === interaction_id)
}

const waits: readonly [reason: string, Parameters<typeof house.submit>[0], (question: Question) => Promise<unknown>][] =
  [
    ['approval', [call('pay.asked', { order: 25 }), say('Done.')], (question) => house.approve(question)],
    ['ecs', [form, say('Done.')], (question) => house.answer(question, sized)],
    [
      'outcome_unknown',
      [call('pay', { broken: 'socket hang up' }), say('Done.')],
      ({ interaction_id }) =>
        house.post(`/api/interactions/${interaction_id}/settle`, { outcome: 'happened', result: 'r-25' }),
    ],
  ]

test.each(waits)(
  'F-25 views: a contract that waits for %s says so, and links to its question and back',
  async (reason, script, goOn) => {
    const { run_id, session_id } = await house.submit(script)
    const question = await house.asksOne(run_id)
    const { interaction_id, execution_id } = question
    expect(execution_id).toMatch(/^exe_/)
    expect(await inboxItem(question)).toMatchObject({ interaction_id, execution_id })
    expect(await house.snapshot(execution_id ?? '')).toMatchObject({
      current_status: 'waiting',
      waiting_reason: reason,
      interaction_id,
      error_kind: null,
    })

    await goOn(question)
    await house.ends(run_id)
    expect(await house.snapshot(execution_id ?? '')).toMatchObject({
      current_status: 'completed',
      waiting_reason: null,
      interaction_id,
    })
    const moves = [
      ['start', null, null, null],
      ['suspend', reason, null, interaction_id],
      ['resume', null, null, interaction_id],
      ['succeed', null, null, null],
    ]
    const views = await viewsOf(session_id, run_id, execution_id ?? '')
    for (const [view, told] of Object.entries(views)) expect({ view, moves: told.map(why) }).toEqual({ view, moves })
  },
)

test('F-25 views: a failed contract has the kind of its failure', async () => {
  const { run_id, session_id } = await house.submit([call('work.brief', { until: house.gate() }), say('Late.')])
  await house.ends(run_id)
  const [contract] = (await house.timeline(session_id)).contracts
  expect(contract).toMatchObject({ current_status: 'failed', error_kind: 'timeout' })
  const views = await viewsOf(session_id, run_id, contract?.execution_id ?? '')
  for (const [view, told] of Object.entries(views))
    expect({ view, last: why(told.at(-1) ?? {}) }).toEqual({ view, last: ['fail', null, 'timeout', null] })
})

test('F-26 ETag: an answer with a duration is not confirmed by 304 once the duration has grown', async () => {
  const { run_id, session_id } = await house.submit([form, say('Done.')])
  const { execution_id } = await house.asksOne(run_id)
  const path = `/api/execution/${execution_id}/snapshot`
  const first = await house.ask<Data>('GET', path)
  const known = { headers: { 'if-none-match': first.headers.get('etag') ?? '' } }
  const later = async () => {
    const { status, body } = await house.ask<Data | null>('GET', path, known)
    return status === 200 ? Number(body?.duration_in_state_ms) - Number(first.body.duration_in_state_ms) : -1
  }
  await expect.poll(later).toBeGreaterThan(0)

  // The timeline has the same snapshots, and the session says how long it has waited.
  const timeline = await house.ask('GET', `/api/execution/${session_id}/timeline`)
  const session = await house.ask<Data>('GET', `/api/sessions/${session_id}`)
  const etagOf = ({ headers }: { headers: Headers }) => ({ headers: { 'if-none-match': headers.get('etag') ?? '' } })
  await expect
    .poll(async () => (await house.ask('GET', `/api/execution/${session_id}/timeline`, etagOf(timeline))).status)
    .toBe(200)
  const lines = async () => {
    const { status, body } = await house.ask<Data | null>('GET', `/api/sessions/${session_id}`, etagOf(session))
    return status === 200 ? body?.current_line : session.body.current_line
  }
  await expect.poll(lines).not.toBe(session.body.current_line)

  // A view without durations is the same while nothing happens.
  for (const view of ['transitions', 'consequence']) {
    const answer = await house.ask('GET', `/api/execution/${execution_id}/${view}`)
    expect((await house.ask('GET', `/api/execution/${execution_id}/${view}`, etagOf(answer))).status).toBe(304)
  }
})

test('F-37 turn.tools_finished: it tells how each result and each error begins, whenever it came', async () => {
  const long = 'ab'.repeat(500)
  const { run_id, session_id } = await house.submit([
    together(
      call('work', { result: { refund: 'r-37' } }),
      call('work', { broken: 'the till is closed' }),
      call('work', { result: long }),
      call('work.asked', { result: 'late' }),
      call('nothing', {}),
    ),
    form,
    say('Done.'),
  ])
  // A call without approval has its result on record long before the round ends.
  await house.approve(await house.asksOne(run_id))
  await expect.poll(async () => (await house.asks(run_id))[0]?.interaction_kind).toBe('ecs')
  await house.answer(await house.asksOne(run_id), sized)
  await house.ends(run_id)
  const rounds = (await house.runes(session_id, 'turn.tools_finished')).map(({ payload }) =>
    (payload.results as readonly Data[]).map(({ label, summary, result_summary, error_summary }) => [
      label,
      summary,
      result_summary,
      error_summary,
    ]),
  )
  expect(rounds).toEqual([
    [
      ['SUCCESS', 'work', '{"refund":"r-37"}', null],
      ['FAILED', 'work', null, 'the till is closed'],
      ['SUCCESS', 'work', long.slice(0, 200), null],
      ['SUCCESS', 'work.asked', 'late', null],
      ['FAILED', 'nothing', null, expect.stringContaining('nothing')],
    ],
    [['SUCCESS', 'Which size?', expect.stringContaining('"size":"L"'), null]],
  ])
})

interface Graph extends Data {
  readonly event_id: number
  readonly status: string
  readonly dialogue: readonly Data[]
  readonly pending_executions: readonly Snapshot[]
  readonly completed_executions: readonly Snapshot[]
  readonly execution_trace: readonly Data[]
  readonly expected_waiting: readonly string[]
}

const graphOf = (session_id: string, query = '') => house.get<Graph>(`/api/sessions/${session_id}/graph${query}`)
const idsOf = (executions: readonly Snapshot[]) => executions.map(({ execution_id }) => execution_id)

test('F-20 graph: a call and a step for a person are pending, then the graph is suspended, over a restart as well', async () => {
  const gate = house.gate()
  const { run_id, session_id } = await house.submit([call('work', { until: gate }), form, say('Done.')])
  // A call that was parsed is pending until its tool is done (EC-01).
  await expect.poll(async () => (await graphOf(session_id)).pending_executions.length).toBe(1)
  const working = await graphOf(session_id)
  const [work] = working.pending_executions
  expect(working).toMatchObject({ status: 'processing', completed_executions: [], expected_waiting: [] })
  await house.begins(work?.execution_id ?? '')
  house.open(gate)

  // A step for a person was pending when it was recorded (EC-02), and suspends the graph (EC-13).
  const question = await house.asksOne(run_id)
  const suspended = await graphOf(session_id)
  expect(suspended).toMatchObject({
    status: 'suspended',
    pending_executions: [],
    expected_waiting: [question.execution_id],
  })
  expect(idsOf(suspended.completed_executions)).toEqual([work?.execution_id, question.execution_id])
  const opened = (await house.runes(session_id, 'contract.opened')).at(-1)
  const then = await graphOf(session_id, `?at=${opened?.event_id}`)
  expect(then.event_id).toBe(opened?.event_id)
  expect(then.pending_executions).toMatchObject([
    { execution_id: question.execution_id, action_type: 'ecs_request', current_status: 'pending' },
  ])

  // The command line tells the same, and so does the process after it.
  const shown = await house.cli('show', session_id, '--graph', '--json', '--server', house.url())
  expect(JSON.parse(shown.out)).toEqual(suspended)
  const lines = await house.cli('show', run_id, '--graph', '--server', house.url())
  expect(lines.out).toContain(`waits for ecs: ${question.interaction_id}`)
  await house.killed()
  expect(await graphOf(session_id)).toEqual(suspended)

  // A resume finds waiting what the graph expects.
  const replied = await house.answer(question, sized, { expected_waiting: suspended.expected_waiting })
  expect(replied).toMatchObject({ is_aligned: true })
  await house.ends(run_id)
  const { agent_id } = await house.run(run_id)
  const over = await graphOf(session_id, `?agent_id=${agent_id}`)
  expect(over).toMatchObject({ status: 'idle', pending_executions: [], expected_waiting: [] })
  expect(over.dialogue.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'])
  for (const wrong of ['?at=9999', '?agent_id=agt_none'])
    expect((await house.ask('GET', `/api/sessions/${session_id}/graph${wrong}`)).status).toBe(404)
  expect((await house.ask('GET', '/api/sessions/ses_none/graph')).status).toBe(404)
})

test('F-31 log: a server logs an error of a tool with its stack, and with STATEWRIGHT_LOG=debug each step', async () => {
  const failing = async () => {
    const { run_id, session_id } = await house.submit([call('work', { broken: 'the till is closed' }), say('Done.')])
    await house.ends(run_id)
    const threw = house
      .log()
      .err.split('\n')
      .find((line) => line.startsWith('a tool threw:') && line.includes(run_id))
    expect(threw).toMatch(/"error":"Error: the till is closed\\n +at Object.run \(.*actor\.ts/)
    const shown = JSON.stringify([await house.runes(session_id), house.notes('requests')])
    expect(shown).toContain('the till is closed')
    expect(shown).not.toContain('actor.ts')
    return run_id
  }
  const usual = await failing()
  expect(house.log().err).not.toMatch(new RegExp(`a tool is called.*${usual}`))
  await house.restarted({ STATEWRIGHT_LOG: 'debug' })
  const debugged = await failing()
  for (const step of ['a run is taken', 'a model is asked', 'a tool is called', 'a tool ended', 'a run is let go'])
    expect(house.log().err).toMatch(new RegExp(`${step}: .*${debugged}`))
})
