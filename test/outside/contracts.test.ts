import type { Json } from 'statewright'
import { ask, call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { withLibrary } from './support/embedded.ts'
import { type Data, openHouse } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }
const terminal = ['completed', 'failed', 'rejected', 'cancelled']

interface Topology {
  readonly nodes: readonly { status: string; is_terminal: boolean; is_stable: boolean }[]
  readonly edges: readonly { from_status: string; to_status: string; trigger: string }[]
}

interface Trace {
  readonly steps: readonly (Data & { node_id: string; action: string; timestamp: number; metadata: Data })[]
}

/** A session with one contract that ended in each of the four ways, and one that waits. */
async function everyEnd() {
  const { run_id, session_id } = await house.submit([
    together(call('work', { n: 1 }), call('work', { broken: 'It broke.' }), call('work.asked', { n: 2 })),
    form,
    say('Done.'),
  ])
  const approval = await house.asksOne(run_id)
  await house.deny(approval, 'No.')
  await house.asksOne(run_id, approval)
  await house.post(`/api/runs/${run_id}/cancel`)
  await house.ends(run_id)
  const { contracts } = await house.timeline(session_id)
  return { session_id, run_id, contracts }
}

scenario('EC-03', 'the topology has the seven statuses, four of them terminal, and waiting is stable', async () => {
  // WHEN the machine of contracts is asked for
  const { nodes } = await house.get<Topology>('/api/execution/topology')
  // THEN it has exactly these statuses, and of them these are ends
  expect(nodes.map(({ status }) => status).sort()).toEqual(
    ['pending', 'running', 'waiting', 'completed', 'failed', 'rejected', 'cancelled'].sort(),
  )
  expect(nodes.filter((node) => node.is_terminal).map(({ status }) => status)).toEqual(terminal)
  expect(nodes.find(({ status }) => status === 'waiting')).toMatchObject({ is_stable: true, is_terminal: false })
})

scenario('EC-03', 'a contract waits over a restart, and nothing but its answer ends that', async () => {
  const { run_id } = await house.submit([form, say('Done.')])
  const { execution_id } = await house.asksOne(run_id)
  await house.restarted()
  const { current_status, is_stable } = await house.snapshot(execution_id ?? '')
  expect({ current_status, is_stable }).toEqual({ current_status: 'waiting', is_stable: true })
  await house.post(`/api/runs/${run_id}/cancel`)
})

scenario('EC-04', 'exactly the declared moves are possible, and real contracts make no others', async () => {
  const { edges } = await house.get<Topology>('/api/execution/topology')
  const ways = (from: string) =>
    edges.filter((edge) => edge.from_status === from).map(({ to_status, trigger }) => `${trigger} → ${to_status}`)
  // GIVEN a pending contract, THEN it can only be started
  expect(ways('pending')).toEqual(['start → running'])
  expect(ways('running').sort()).toEqual(
    ['succeed → completed', 'fail → failed', 'reject → rejected', 'suspend → waiting', 'cancel → cancelled'].sort(),
  )
  expect(ways('waiting').sort()).toEqual(['resume → running', 'cancel → cancelled', 'timeout → cancelled'].sort())
  for (const status of terminal) expect(ways(status)).toEqual([])

  // AND contracts that end in every way have taken these moves and no others
  const { session_id, contracts } = await everyEnd()
  expect(contracts.map((c) => c.current_status).sort()).toEqual([...terminal].sort())
  const { transitions } = await house.timeline(session_id)
  const declared = edges.map((edge) => `${edge.from_status} ${edge.trigger} ${edge.to_status}`)
  const made = new Set(transitions.map((move) => `${move.from_status} ${move.trigger} ${move.to_status}`))
  expect([...made].filter((move) => !declared.includes(move))).toEqual([])
  expect(made.size).toBe(7)
})

scenario('EC-05', 'a move out of each terminal status is refused with an error, and the status stays', async () => {
  // GIVEN a contract in each of the four terminal statuses
  const { session_id, contracts } = await everyEnd()
  const questions = (await house.runes(session_id, 'interaction.opened')).map((rune) => rune.interaction_id)
  expect(questions).toHaveLength(2)
  const before = (await house.runes(session_id)).length

  // WHEN what would move them is asked for once more
  for (const interaction_id of questions) {
    const again = await house.ask<Data>('POST', `/api/interactions/${interaction_id}/answer`, {
      body: { reply: sized },
    })
    expect(again).toMatchObject({
      status: 409,
      body: { code: 'interaction_closed', detail: expect.stringMatching(/\w+ \w+/) },
    })
  }
  // THEN nothing was recorded and each status is what it was, with no move that it could still make
  expect((await house.runes(session_id)).length).toBe(before)
  for (const { execution_id, current_status } of contracts) {
    expect(await house.snapshot(execution_id)).toMatchObject({ current_status, is_terminal: true })
    const { subjects } = await house.get<{ subjects: readonly Data[] }>(`/api/sessions/${session_id}/state`)
    expect(subjects.find((subject) => subject.subject_id === execution_id)).toMatchObject({
      state: current_status,
      allowed: [],
    })
  }
})

scenario('EC-05', 'resume() of the library refuses each terminal status with an error, and the status stays', () =>
  withLibrary(async ({ sw, submit, runes }) => {
    const { sessionId, runId } = await submit([
      together(call('work', {}), call('work', { broken: 'No.' }), call('work.asked', {})),
      form,
      say('Done.'),
    ])
    await sw.idle()
    const [approval] = await sw.inbox.list()
    await sw.inbox.reply(approval?.interaction_id ?? '', { reply: { decision: 'deny' } })
    await sw.idle()
    await sw.runs.cancel(runId)
    await sw.idle()
    const moves = (await runes(sessionId)).filter((rune) => rune.machine === 'contract')
    const ends = new Map(moves.map((rune) => [rune.subject_id ?? '', rune.to ?? '']))
    expect([...ends.values()].sort()).toEqual([...terminal].sort())
    for (const [execution_id, from] of ends)
      await expect(sw.executions.resume(execution_id, { reply: sized })).rejects.toMatchObject({
        code: 'transition_refused',
        details: { machine: 'contract', from, on: 'resume', refusal: 'terminal' },
      })
    const after = (await runes(sessionId)).filter((rune) => rune.machine === 'contract')
    expect(after).toEqual(moves)
  }),
)

scenario('EC-06', 'a tool that succeeds completes its contract: result, time, tool_node', async () => {
  const since = Date.now()
  const { run_id, session_id } = await house.submit([call('work', { result: { receipt: 'r-42' } }), say('Done.')])
  await house.ends(run_id)
  const [contract] = (await house.timeline(session_id)).contracts
  expect(contract).toMatchObject({
    current_status: 'completed',
    result: { receipt: 'r-42' },
    error_message: null,
    last_actor: 'tool_node',
    last_trigger: 'succeed',
  })
  const { transitions } = await house.get<{ transitions: readonly Data[] }>(
    `/api/execution/${contract?.execution_id}/transitions`,
  )
  expect(transitions.at(-1)).toMatchObject({ from_status: 'running', to_status: 'completed', actor: 'tool_node' })
  const at = Number(transitions.at(-1)?.timestamp)
  expect(at).toBeGreaterThanOrEqual(since)
  expect(at).toBeLessThanOrEqual(Date.now())
})

scenario('EC-07', 'a tool that fails ends its contract as failed: message, time, tool_node', async () => {
  const since = Date.now()
  const { run_id, session_id } = await house.submit([
    together(call('work', { broken: 'Not today.' }), call('pay', { declined: 'The bank said no.' })),
    say('Sorry.'),
  ])
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'Sorry.' })
  const { contracts, transitions } = await house.timeline(session_id)
  expect(contracts).toMatchObject([
    { current_status: 'failed', error_message: 'Not today.', result: null, last_actor: 'tool_node' },
    { current_status: 'failed', error_message: 'The bank said no.', result: null, last_actor: 'tool_node' },
  ])
  const ends = transitions.filter((move) => move.to_status === 'failed')
  expect(ends).toMatchObject([
    { trigger: 'fail', actor: 'tool_node' },
    { trigger: 'fail', actor: 'tool_node' },
  ])
  for (const { timestamp } of ends) expect(timestamp >= since && timestamp <= Date.now()).toBe(true)
})

scenario('EC-08', 'reasoning gets status, result and error as fields, even if the text contradicts them', async () => {
  // GIVEN a success whose output reads like a failure, and a failure whose message reads like a success
  const { run_id, session_id } = await house.submit([
    call('work', { result: 'ERROR: status FAILED' }),
    call('work', { broken: 'SUCCESS: completed' }),
    say('Done.'),
  ])
  await house.ends(run_id)
  const [good, bad] = (await house.timeline(session_id)).contracts
  // WHEN the model was asked the last time
  interface Message extends Data {
    readonly role: string
  }
  const requests = house.notes<{ messages: readonly Message[] }>('requests')
  const told = requests.at(-1)?.messages.filter(({ role }) => role === 'tool')
  // THEN each outcome is a label, a result or an error, of that contract
  expect(told).toMatchObject([
    {
      consequence: {
        execution_id: good?.execution_id,
        consequence_label: 'SUCCESS',
        result: 'ERROR: status FAILED',
        error_message: null,
      },
    },
    {
      consequence: {
        execution_id: bad?.execution_id,
        consequence_label: 'FAILED',
        result: null,
        error_message: 'SUCCESS: completed',
      },
    },
  ])
})

scenario(
  'EC-09',
  'every move is a step of the trace: node, action with contract and statuses, time, metadata',
  async () => {
    const { run_id, session_id } = await house.submit([call('pay', { n: 9 }), say('Done.')])
    await house.ends(run_id)
    const { contracts, transitions } = await house.timeline(session_id)
    const id = contracts[0]?.execution_id
    const { steps } = await house.get<Trace>(`/api/runs/${run_id}/trace`)
    const metadata = (trigger: string | null) =>
      expect.objectContaining({ trigger, contract_id: id, irreversible: true })
    expect(steps).toMatchObject([
      { node_id: 'reasoning', action: `create_contract:${id}`, metadata: metadata(null) },
      { node_id: 'tool_node', action: `transition:${id}:pending→running`, metadata: metadata('start') },
      { node_id: 'tool_node', action: `transition:${id}:running→completed`, metadata: metadata('succeed') },
    ])
    expect(steps.slice(1).map((step) => step.timestamp)).toEqual(transitions.map((move) => move.timestamp))
    // AND the command line shows the same steps
    const printed = await house.cli('trace', run_id, '--json')
    expect(JSON.parse(printed.out)).toMatchObject({ steps: JSON.parse(JSON.stringify(steps)) })
  },
)

scenario(
  'EC-10',
  'after a conversation with a restart in it the whole trace is there, with the actor of each move',
  async () => {
    const { run_id, session_id } = await house.submit([call('pay.asked', { n: 10 }), form, say('Done.')])
    const approval = await house.asksOne(run_id)
    await house.approve(approval)
    const question = await house.asksOne(run_id, approval)
    await house.killed()
    await house.answer(question, sized)
    await house.ends(run_id)

    const { steps } = await house.get<Trace>(`/api/runs/${run_id}/trace`)
    expect(steps.map((step) => `${step.metadata.trigger} by ${step.node_id}`)).toEqual([
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
    // AND it has every move of the timeline
    const { transitions } = await house.timeline(session_id)
    expect(steps.filter((step) => step.metadata.trigger !== null)).toHaveLength(transitions.length)
  },
)

/** Pays with the same arguments in one session, as often as the steps say. */
async function payTwice(first: Json, second: Json) {
  const begun = await house.submit([call('pay', first), say('Once.')])
  await house.ends(begun.run_id)
  const again = await house.submit([call('pay', second), say('Twice.')], { session_id: begun.session_id })
  await house.ends(again.run_id)
  return { ...begun, again: again.run_id }
}

scenario('EC-11', 'an irreversible action that completed is not done again, and the model is told so', async () => {
  const { session_id, again } = await payTwice({ order: 11 }, { order: 11 })
  // THEN the world saw it once, and there is one contract for it
  const { contracts } = await house.timeline(session_id)
  expect(contracts).toMatchObject([{ current_status: 'completed', irreversible: true }])
  expect(house.effects(contracts[0]?.execution_id ?? '').map(({ phase }) => phase)).toEqual(['begins', 'ends'])
  expect(new Set(house.effects('pay').map(({ key }) => key)).size).toBe(
    house.effects('pay').filter(({ phase }) => phase === 'begins').length,
  )
  // AND the second call was answered with that it was done already
  const refusal = (await house.runes(session_id, 'tool.result')).find((rune) => rune.run_id === again)
  expect(JSON.stringify(refusal?.payload)).toMatch(/already/)
  const told = house.notes<{ messages: readonly Data[] }>('requests').at(-1)?.messages.at(-1)
  expect(JSON.stringify(told)).toMatch(/already/)
  expect(JSON.stringify(told)).toContain(contracts[0]?.execution_id)
})

scenario('EC-12', 'after a failure the same key may be tried again, as a new contract', async () => {
  // GIVEN a payment that is declined as long as a gate is closed, so that both calls have the same arguments
  const { run_id, session_id } = await house.submit([
    call('pay', { order: 12, declined: 'Not yet.' }),
    call('pay', { order: 12, declined: 'Not yet.' }),
    say('Tried.'),
  ])
  await house.ends(run_id)
  const { contracts } = await house.timeline(session_id)
  // THEN there are two contracts with ids of their own for one key, and both were carried out
  expect(contracts).toMatchObject([{ current_status: 'failed' }, { current_status: 'failed' }])
  const [first, second] = contracts
  expect(first?.execution_id).not.toBe(second?.execution_id)
  expect(first?.idempotency_key).toBe(second?.idempotency_key)
  for (const { execution_id } of contracts)
    expect(house.effects(execution_id)).toMatchObject([{ phase: 'begins', key: first?.idempotency_key }])
})

scenario('EC-14', "a person's answer resumes the waiting contract and completes it; reasoning goes on", async () => {
  const { run_id, session_id } = await house.submit([form, say('Thank you.')])
  const question = await house.asksOne(run_id)
  const asked = house.notes('requests').length
  const replied = await house.answer(question, sized)
  // THEN it was seen to wait, went on to be completed with the answer
  expect(replied).toMatchObject({ snapshot: { execution_id: question.execution_id, current_status: 'waiting' } })
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'Thank you.' })
  const { transitions, contracts } = await house.timeline(session_id)
  expect(transitions.slice(-2)).toMatchObject([
    { from_status: 'waiting', to_status: 'running', trigger: 'resume' },
    { from_status: 'running', to_status: 'completed', trigger: 'succeed' },
  ])
  expect(contracts).toMatchObject([{ result: { size: 'L' } }])
  // AND the model was asked once more, with the answer
  const requests = house.notes<{ messages: readonly Data[] }>('requests')
  expect(requests).toHaveLength(asked + 1)
  expect(requests.at(-1)?.messages.at(-1)).toMatchObject({
    role: 'tool',
    consequence: { consequence_label: 'SUCCESS', result: { size: 'L' }, was_suspended: true },
  })
})

scenario('EC-15', 'resuming a contract that is over is refused, and nothing runs', async () => {
  // GIVEN one question whose contract completed and one whose contract was cancelled
  const { run_id, session_id } = await house.submit([form, form, say('Never.')])
  const first = await house.asksOne(run_id)
  await house.answer(first, sized)
  const second = await house.asksOne(run_id, first)
  await house.post(`/api/runs/${run_id}/cancel`)
  await house.ends(run_id)
  expect((await house.timeline(session_id)).contracts).toMatchObject([
    { current_status: 'completed' },
    { current_status: 'cancelled' },
  ])
  const before = [(await house.runes(session_id)).length, house.notes('requests').length]

  // WHEN either is answered, also after a restart and through the command line
  for (const round of [1, 2]) {
    for (const { interaction_id } of [first, second]) {
      const refused = await house.ask<Data>('POST', `/api/interactions/${interaction_id}/answer`, {
        body: { reply: sized },
      })
      expect(refused).toMatchObject({ status: 409, body: { detail: expect.any(String) } })
    }
    if (round === 1) await house.killed()
  }
  const typed = await house.cli('answer', first.interaction_id, 'size=L')
  expect(typed.exit).toBe(6)
  // THEN nothing was recorded, and no model was asked
  expect([(await house.runes(session_id)).length, house.notes('requests').length]).toEqual(before)
  expect(await house.run(run_id)).toMatchObject({ status: 'canceled' })
})
