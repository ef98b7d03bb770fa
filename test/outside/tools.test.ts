import { call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { openHouse, type Rune } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

/** The executions of a session, in the order in which they were opened, once there are so many. */
async function executions(session_id: string, count: number): Promise<readonly string[]> {
  await expect.poll(async () => (await house.runes(session_id, 'contract.opened')).length).toBe(count)
  return (await house.timeline(session_id)).contracts.map(({ execution_id }) => execution_id)
}

async function lastBegins(session_id: string, count: number): Promise<string> {
  const id = (await executions(session_id, count)).at(-1) ?? ''
  await house.begins(id)
  return id
}

/** Every call of a session has one result, after the call; the result has their statuses, in the order of the calls. */
async function resultsOf(session_id: string): Promise<readonly unknown[]> {
  const runes = await house.runes(session_id, 'tool.call', 'tool.result')
  const calls = runes.filter(({ kind }) => kind === 'tool.call')
  const results = Map.groupBy(
    runes.filter(({ kind }) => kind === 'tool.result'),
    ({ call_id }) => call_id,
  )
  expect([...results.keys()].toSorted()).toEqual(calls.map(({ call_id }) => call_id).toSorted())
  return calls.map(({ call_id, event_id }) => {
    const all = results.get(call_id) ?? []
    expect(all).toHaveLength(1)
    expect(all[0]?.event_id).toBeGreaterThan(event_id)
    return all[0]?.payload.status
  })
}

scenario('TO-02', 'each rune of a tool call is written on its move, with its payload', async () => {
  // GIVEN a call for every way through the machine
  const { run_id, session_id } = await house.submit([
    together(call('work.asked', { n: 1, reports: [['stdout', 'half way']] }), call('work.asked', { n: 2 })),
    call('work', { broken: 'It broke.' }),
    call('work.brief', { until: house.gate() }),
    call('work', { until: house.gate() }),
  ])
  const [good, unwanted] = await house.asks(run_id)
  if (good === undefined || unwanted === undefined) throw new Error('It does not ask two things.')
  await house.deny(unwanted, 'No.')
  await house.approve(good)
  await lastBegins(session_id, 5)
  await house.post(`/api/runs/${run_id}/cancel`, { reason: 'Enough.' })
  await house.ends(run_id)

  // THEN what is recorded of each is what the table says
  const all = (await house.runes(session_id)).filter(({ kind }) => kind.startsWith('tool.'))
  const ids = all.filter(({ kind }) => kind === 'tool.call').map(({ call_id }) => call_id)
  const of = (n: number) =>
    all.filter(({ call_id }) => call_id === ids[n]).map(({ kind, to, payload }) => [kind, to, payload] as const)
  const asked = (n: number) => [
    'tool.approval_requested',
    'awaiting_approval',
    { call_id: ids[n], policy_reason: expect.stringMatching(/\w+ \w+/) },
  ]
  const made = (n: number, tool_name: string, args: object) => [
    'tool.call',
    'pending_call',
    { call_id: ids[n], tool_name, arguments: args },
  ]
  expect(of(0)).toMatchObject([
    made(0, 'work.asked', { n: 1 }),
    asked(0),
    ['tool.approved', 'executing', { call_id: ids[0], approver: expect.stringMatching(/\w/) }],
    ['tool.progress', 'executing', { call_id: ids[0], stream: 'stdout', chunk: 'half way' }],
    ['tool.result', 'completed_result', { call_id: ids[0], status: 'success', output: { done: 'work.asked' } }],
  ])
  expect(of(1)).toMatchObject([
    made(1, 'work.asked', { n: 2 }),
    asked(1),
    ['tool.denied', 'denied', { call_id: ids[1], reason: 'No.' }],
    ['tool.result', undefined, { status: 'denied' }],
  ])
  const lasts = [2, 3, 4].map((n) => of(n).at(-1))
  expect(lasts).toMatchObject([
    ['tool.result', 'error_result', { call_id: ids[2], status: 'error', error: 'It broke.' }],
    ['tool.result', 'timeout_result', { call_id: ids[3], status: 'timeout' }],
    ['tool.result', 'cancelled_result', { call_id: ids[4], status: 'cancelled' }],
  ])
})

scenario('TO-03', 'every call gets one result: success, error, unknown tool, bad arguments, duplicate', async () => {
  const { run_id, session_id } = await house.submit([
    together(call('work', { n: 1 }), call('work', { broken: 'No.' }), call('nobody'), call('work', { until: 7 })),
    together(call('pay', { n: 1 }), call('pay', { n: 1 })),
    say('Done.'),
  ])
  await house.ends(run_id)
  expect(await resultsOf(session_id)).toEqual(['success', 'error', 'error', 'error', 'success', 'denied'])
})

scenario('TO-03', 'every call gets one result: approved, denied, timed out, cancelled', async () => {
  const { run_id, session_id } = await house.submit([
    together(call('work.asked', { n: 1 }), call('work.asked', { n: 2 })),
    call('work.brief', { until: house.gate() }),
    together(call('work', { until: house.gate() }), call('work', { n: 3 }), call('work.asked', { n: 4 })),
  ])
  const [yes, no] = await house.asks(run_id)
  if (yes === undefined || no === undefined) throw new Error('It does not ask two things.')
  await house.deny(no, 'No.')
  await house.approve(yes)
  const all = await executions(session_id, 6)
  await house.begins(all[3] ?? '')
  await house.post(`/api/runs/${run_id}/cancel`)
  await house.ends(run_id)
  expect(await resultsOf(session_id)).toEqual(['success', 'denied', 'timeout', 'cancelled', 'cancelled', 'cancelled'])
})

scenario('TO-03', 'every call gets one result when a crash cuts it off', async () => {
  // GIVEN a call that may be repeated, and one that may not, both at work when the server is killed
  const gate = house.gate()
  const looking = await house.submit([call('look', { until: gate }), say('Seen.')])
  const paying = await house.submit([call('pay', { until: gate }), say('Paid.')])
  await lastBegins(looking.session_id, 1)
  const paid = await lastBegins(paying.session_id, 1)
  await house.killed()
  house.open(gate)
  // WHEN another server has taken over, and a person has said what became of the payment
  const question = await house.asksOne(paying.run_id)
  expect(question).toMatchObject({ interaction_kind: 'settlement', execution_id: paid })
  await house.post(`/api/interactions/${question.interaction_id}/settle`, { outcome: 'happened', result: 'r-1' })
  // THEN both have their one result, and the payment was begun once
  expect(await house.ends(looking.run_id)).toMatchObject({ status: 'succeeded', result: 'Seen.' })
  expect(await house.ends(paying.run_id)).toMatchObject({ status: 'succeeded', result: 'Paid.' })
  expect(await resultsOf(looking.session_id)).toEqual(['success'])
  expect(await resultsOf(paying.session_id)).toEqual(['success'])
  expect(house.effects(paid).map(({ phase }) => phase)).toEqual(['begins'])
})

scenario('TO-04', 'there is no result without a call, in any session of this store', async () => {
  const { run_id } = await house.submit([together(call('work', {}), call('nobody')), say('Done.')])
  await house.ends(run_id)
  // WHEN all sessions that this server ever had are read, with all that happened in them
  const { items } = await house.get<{ items: readonly { session_id: string }[] }>('/api/sessions?limit=200')
  expect(items.length).toBeGreaterThan(4)
  let results = 0
  for (const { session_id } of items) {
    const called = new Set<string | undefined>()
    for (const rune of await house.runes(session_id)) {
      if (rune.kind === 'tool.call') called.add(rune.call_id)
      if (rune.kind !== 'tool.result') continue
      results += 1
      // THEN the call of each result was recorded before it
      expect(called).toContain(rune.call_id)
    }
  }
  expect(results).toBeGreaterThan(10)
})

scenario('TO-05', 'nothing that needs approval runs before it has it, over a kill too', async () => {
  const { run_id, session_id } = await house.submit([call('pay.asked', { n: 5 }), say('Done.')])
  const question = await house.asksOne(run_id)
  const id = question.execution_id ?? ''
  await house.killed()
  expect(house.effects(id)).toEqual([])
  // WHEN it is approved with a digest of something else, it does not run either
  const wrong = await house.ask('POST', `/api/interactions/${question.interaction_id}/approve`, {
    body: { digest: '0'.repeat(64) },
  })
  expect(wrong).toMatchObject({ status: 422, body: { code: 'reply_unfit' } })
  expect(JSON.stringify(wrong.body)).not.toContain(question.digest)
  expect(house.effects(id)).toEqual([])
  await house.approve(question)
  await house.ends(run_id)
  // THEN it ran once, and its approval is on record before it was executed
  expect(house.effects(id).map(({ phase }) => phase)).toEqual(['begins', 'ends'])
  const kinds = (await house.runes(session_id)).filter(({ call_id }) => call_id === question.call_id)
  const at = (fits: (rune: Rune) => boolean) => kinds.findIndex(fits)
  expect(at(({ kind }) => kind === 'tool.approved')).toBeGreaterThan(0)
  expect(at(({ kind }) => kind === 'tool.approved')).toBeLessThan(at(({ kind }) => kind === 'tool.result'))
})

scenario('TO-05', 'a call that a person or the policy denied never runs', async () => {
  const asked = await house.submit([call('pay.asked', { n: 6 }), say('Well.')])
  await house.deny(await house.asksOne(asked.run_id), 'Too much.')
  const auto = await house.submit([call('pay.asked', { n: 7 }), say('Well.')], { mode: 'auto' })
  for (const { run_id, session_id } of [asked, auto]) {
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
    const [contract] = (await house.timeline(session_id)).contracts
    expect(contract).toMatchObject({ current_status: 'rejected' })
    expect(house.effects(contract?.execution_id ?? '')).toEqual([])
  }
})

scenario('TO-06', 'the output of a long-running tool is recorded in pieces while it runs', async () => {
  const gate = house.gate()
  const { run_id, session_id } = await house.submit([
    call('work', {
      until: gate,
      reports: [
        // They end in what begins no secret: a text that may begin one is held back until more of it comes.
        ['stdout', '[compiling]\n'],
        ['stderr', '[a warning]\n'],
        ['stdout', '[linking]\n'],
      ],
    }),
    say('Built.'),
  ])
  // GIVEN a tool that has reported and is still at work THEN its pieces are there, and no result is
  const pieces = async () =>
    (await house.runes(session_id, 'tool.progress')).map(({ payload }) => `${payload.stream}: ${payload.chunk}`)
  await expect.poll(pieces).toEqual(['stdout: [compiling]\n', 'stderr: [a warning]\n', 'stdout: [linking]\n'])
  expect(await house.runes(session_id, 'tool.result')).toEqual([])
  expect(await house.run(run_id)).toMatchObject({ status: 'running' })
  house.open(gate)
  await house.ends(run_id)
  expect((await house.runes(session_id, 'tool.progress', 'tool.result')).map(({ kind }) => kind)).toEqual([
    'tool.progress',
    'tool.progress',
    'tool.progress',
    'tool.result',
  ])
})

scenario(
  'TO-07',
  'a timeout of the approval, a timeout of the execution and a cancellation have results of their own',
  async () => {
    // GIVEN a run in which deadlines decide
    const { run_id, session_id } = await house.submit(
      [call('work.asked', {}), call('work.brief', { until: house.gate() }), call('work', { until: house.gate() })],
      { interactive_require_user_reply: false },
    )
    const stopped = await lastBegins(session_id, 3)
    await house.post(`/api/runs/${run_id}/cancel`)
    await house.ends(run_id)
    const results = await house.runes(session_id, 'tool.result')
    expect(results.map(({ from, trigger, to, payload }) => [from, trigger, to, payload.status])).toEqual([
      ['awaiting_approval', 'approval_timeout', 'timeout_result', 'timeout'],
      ['executing', 'execution_timeout', 'timeout_result', 'timeout'],
      ['executing', 'cancelled', 'cancelled_result', 'cancelled'],
    ])
    const [asked, slow] = (await house.timeline(session_id)).contracts.map(({ execution_id }) => execution_id)
    expect(house.effects(asked ?? '')).toEqual([])
    // AND the tools that were stopped heard it
    for (const id of [slow ?? '', stopped])
      expect(house.effects(id).map(({ phase }) => phase)).toEqual(['begins', 'hears it is over'])
  },
)
