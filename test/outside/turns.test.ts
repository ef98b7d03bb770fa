import { breakOff, call, say, together } from 'statewright/testing'
import { expect } from 'vitest'
import { breaking, holding } from './support/actor.ts'
import { openHouse, type Rune } from './support/house.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

const turnKinds = (runes: readonly Rune[]) => runes.filter(({ kind }) => kind.startsWith('turn.'))

/** Waits until the actor is in the middle of its sentence, and what it has said is on record. */
async function isTalking(session_id: string, run_id: string, said: string): Promise<void> {
  const deltas = async () =>
    (await house.runes(session_id, 'turn.assistant_delta'))
      .filter((rune) => rune.run_id === run_id)
      .map(({ payload }) => payload.content)
      .join('')
  await expect.poll(deltas).toEqual(startOf(said))
}

/** The last letters may be held back, as long as they could be the beginning of a secret, such as the token of the server. */
const startOf = (said: string) => expect.toSatisfy((heard: string) => heard !== '' && said.startsWith(heard))

scenario('TU-02', 'each rune of a turn is written once, on its move, with its payload', async () => {
  // GIVEN a turn with a round of calls whose text comes in two halves
  const gate = house.gate()
  const input = [
    holding(gate, { ...together(say('Let me see.'), call('look', { result: 'a blue lamp' })), usage: said(11, 7) }),
    { ...say('Well done.'), usage: said(20, 3) },
  ]
  const first = await house.submit(input)
  await isTalking(first.session_id, first.run_id, 'Let me')
  house.open(gate)
  await house.ends(first.run_id)
  // AND one that is interrupted in the middle of a sentence, and one whose stream breaks
  const { session_id } = first
  const second = await house.submit([holding(house.gate(), say('Never heard.'))], { session_id })
  await isTalking(session_id, second.run_id, 'Never ')
  await house.post(`/api/runs/${second.run_id}/interrupt`, { reason: 'Never mind.' })
  await house.ends(second.run_id)
  const third = await house.submit([breakOff('Your key is wrong.', { errorType: 'auth', retryable: false })], {
    session_id,
  })
  await house.ends(third.run_id)

  // THEN the rows of the table are there, in order, each once, each with its payload
  const all = turnKinds(await house.runes(session_id))
  const { agent_id } = await house.run(first.run_id)
  const [made] = await house.runes(session_id, 'tool.call')
  const call_id = made?.call_id
  const turns = all.filter(({ kind }) => kind === 'turn.started').map(({ turn_id }) => turn_id)
  expect(new Set(turns).size).toBe(3)
  expect(all.map(({ kind, from, to, payload }) => [kind, from, to, payload])).toMatchObject([
    ['turn.started', 'idle', 'streaming', { turn_id: turns[0], agent_id, input }],
    ['turn.assistant_delta', undefined, undefined, { content: startOf('Let me') }],
    ['turn.tool_calls_received', 'streaming', 'tool_executing', { call_ids: [call_id], usage: usage(11, 7) }],
    [
      'turn.tools_finished',
      'tool_executing',
      'streaming',
      { results: [{ call_id, label: 'SUCCESS', result_summary: 'a blue lamp', error_summary: null }] },
    ],
    ['turn.completed', 'streaming', 'completed', { final_output: 'Well done.', usage: usage(20, 3) }],
    ['turn.started', 'idle', 'streaming', { turn_id: turns[1], agent_id }],
    ['turn.assistant_delta', undefined, undefined, { content: startOf('Never ') }],
    ['turn.interrupted', 'streaming', 'interrupted', { reason: 'Never mind.', partial_output: startOf('Never ') }],
    ['turn.started', 'idle', 'streaming', { turn_id: turns[2], agent_id }],
    ['turn.error', 'streaming', 'error', { error_type: 'auth', message: 'Your key is wrong.' }],
  ])
  // AND that a turn is over and its engine idle again has no rune of its own
  expect(all.filter(({ trigger }) => trigger === 'turn_finalized')).toEqual([])
})

const said = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens })
const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })

scenario('TU-02', 'a stream that breaks and is tried again is a turn of its own each time', async () => {
  const { run_id, session_id } = await house.submit([
    breaking(2, { ...breakOff('Gone.', { text: 'I thi' }), ...say('I think so.') }),
  ])
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'I think so.' })
  const kinds = turnKinds(await house.runes(session_id)).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind !== 'turn.assistant_delta')).toEqual([
    'turn.started',
    'turn.error',
    'turn.started',
    'turn.error',
    'turn.started',
    'turn.completed',
  ])
})

scenario('TU-03', 'a steer stops the stream, keeps its text, and opens the next turn with the input', async () => {
  // GIVEN a model in the middle of a sentence
  const { run_id, session_id } = await house.submit([holding(house.gate(), say('Blue or. Red it is'))])
  await isTalking(session_id, run_id, 'Blue or. ')
  // WHEN new input comes
  const next = [say('Red, then.')]
  expect(await house.post(`/api/runs/${run_id}/steer`, { input: next })).toMatchObject({ accepted: true })
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded', result: 'Red, then.' })
  // THEN the turn ended with what it had said, and the next began with the input
  const turns = await house.runes(session_id, 'turn.started', 'turn.interrupted', 'turn.completed')
  expect(turns).toMatchObject([
    { kind: 'turn.started' },
    { kind: 'turn.interrupted', trigger: 'steer', payload: { partial_output: 'Blue or. ' } },
    { kind: 'turn.started', payload: { input: next } },
    { kind: 'turn.completed', payload: { final_output: 'Red, then.' } },
  ])
  // AND the model was told both
  const told = house.notes<{ messages: readonly object[] }>('requests').at(-1)
  expect(told?.messages.slice(-2)).toMatchObject([
    { role: 'assistant', text: 'Blue or. ', partial: true },
    { role: 'user', content: next },
  ])
})

scenario('TU-03', 'a steer or an interrupt while a tool is at work waits for the tool', async () => {
  const gates = [house.gate(), house.gate()] as const
  // GIVEN one run that is steered and one that is interrupted while a tool is at work
  const steered = await house.submit([call('work', { until: gates[0] }), say('Never.')])
  const stopped = await house.submit([call('work', { until: gates[1] }), say('Never.')])
  const executions = []
  for (const { session_id } of [steered, stopped]) {
    await expect.poll(async () => (await house.runes(session_id, 'contract.opened')).length).toBe(1)
    const [contract] = (await house.timeline(session_id)).contracts
    await house.begins(contract?.execution_id ?? '')
    executions.push(contract?.execution_id ?? '')
  }
  await house.post(`/api/runs/${steered.run_id}/steer`, { input: [say('Steered.')] })
  await house.post(`/api/runs/${stopped.run_id}/interrupt`, { reason: 'Stop when you can.' })
  for (const { session_id } of [steered, stopped])
    expect(await house.runes(session_id, 'turn.interrupted', 'tool.result')).toEqual([])
  for (const gate of gates) house.open(gate)
  // THEN both tools came to their end, with their results on record
  expect(await house.ends(steered.run_id)).toMatchObject({ status: 'succeeded', result: 'Steered.' })
  expect(await house.ends(stopped.run_id)).toMatchObject({ status: 'canceled', message: 'Stop when you can.' })
  for (const id of executions) expect(house.effects(id).map(({ phase }) => phase)).toEqual(['begins', 'ends'])
  for (const { session_id } of [steered, stopped])
    expect((await house.runes(session_id, 'tool.result', 'turn.interrupted')).map(({ kind }) => kind)).toEqual([
      'tool.result',
      'turn.interrupted',
    ])
})

scenario(
  'TU-04',
  'calls of tools that are safe side by side run at the same time; the others run in order',
  async () => {
    const gates = [house.gate(), house.gate(), house.gate(), house.gate()]
    const [one, two, three, four] = gates.map((until) => ({ until, result: until }))
    // GIVEN an answer that looks twice, works, and looks once more
    const { run_id, session_id } = await house.submit([
      together(call('look', one), call('look', two), call('work', three), call('look', four)),
      say('Done.'),
    ])
    await expect.poll(async () => (await house.runes(session_id, 'contract.opened')).length).toBe(4)
    const contracts = (await house.timeline(session_id)).contracts.map(({ execution_id }) => execution_id)
    const phases = (n: number) => house.effects(contracts[n] ?? '').map(({ phase }) => phase)
    const atWork = () => contracts.map((_, n) => (phases(n).join() === 'begins' ? 'x' : '.')).join('')
    // THEN the two looks are under way together, and what is not safe in parallel with them has not begun
    await expect.poll(atWork).toBe('xx..')
    house.open(gates[1] ?? '')
    await expect.poll(atWork).toBe('x...')
    house.open(gates[0] ?? '')
    // AND the work is alone, and holds up the look after it
    await expect.poll(atWork).toBe('..x.')
    await house.get('/healthz')
    expect(phases(3)).toEqual([])
    house.open(gates[2] ?? '')
    await expect.poll(atWork).toBe('...x')
    house.open(gates[3] ?? '')
    expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
    expect((await house.runes(session_id, 'tool.result')).map(({ payload }) => payload.output)).toEqual(
      [1, 0, 2, 3].map((n) => gates[n]),
    )
  },
)
