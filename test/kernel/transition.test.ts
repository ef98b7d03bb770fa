import { expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { suppose, transition } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { runMachine } from '../../src/machines/run.ts'
import { turnMachine } from '../../src/machines/turn.ts'

test('transition: yes is a value that names the edge it took', () => {
  const decision = transition(contractMachine, 'running', 'suspend')
  expect(decision).toEqual({
    allowed: true,
    from: 'running',
    on: 'suspend',
    to: 'waiting',
    edge: { from: 'running', on: 'suspend', to: 'waiting', rune: 'contract.moved' },
    readings: [],
  })
})

test('transition: a refusal is a value: terminal, undeclared or guarded, with the legal triggers', () => {
  expect(transition(contractMachine, 'completed', 'start')).toEqual({
    allowed: false,
    from: 'completed',
    on: 'start',
    refusal: 'terminal',
    legal: [],
    readings: [],
  })
  expect(transition(contractMachine, 'waiting', 'succeed')).toEqual({
    allowed: false,
    from: 'waiting',
    on: 'succeed',
    refusal: 'undeclared',
    legal: ['resume', 'cancel', 'timeout'],
    readings: [],
  })
  const nothing = { is_first: false, is_steered: false, messages: 0 }
  expect(transition(turnMachine, 'idle', 'start_turn', nothing)).toEqual({
    allowed: false,
    from: 'idle',
    on: 'start_turn',
    refusal: 'guarded',
    legal: ['start_turn'],
    readings: [{ guard: 'input', holds: false, because: 'There is nothing to answer.' }],
  })
})

test('transition: a caller gives facts, never the reading of a guard', () => {
  const steered = { is_first: false, is_steered: true, messages: 0 }
  expect(transition(turnMachine, 'idle', 'start_turn', steered)).toMatchObject({
    to: 'streaming',
    readings: [{ guard: 'input', holds: true, because: 'It begins with input that was sent to the run.' }],
  })
  // @ts-expect-error the value of a guard is no fact
  expect(transition(turnMachine, 'idle', 'start_turn', { input: true })).toMatchObject({ refusal: 'guarded' })
  // @ts-expect-error a guarded trigger needs its facts
  expect(transition(turnMachine, 'idle', 'start_turn')).toMatchObject({ refusal: 'guarded' })
  // @ts-expect-error a trigger without guards takes none
  expect(transition(contractMachine, 'pending', 'start', { input: true })).toMatchObject({ to: 'running' })
})

test.each(
  (machines as readonly Machine[]).flatMap((machine) =>
    machine.transitions.flatMap((edge) => (edge.when === undefined ? [] : [{ machine, ...edge }])),
  ),
)('transition: $machine.name $from on $on is refused without facts, and names a fact', ({ machine, from, on }) => {
  const decision = transition(machine, from, on, {})
  expect(decision).toMatchObject({ allowed: false, refusal: 'guarded' })
  expect(decision.readings.length).toBeGreaterThan(0)
  for (const reading of decision.readings) {
    expect(reading).toMatchObject({ holds: false, because: expect.stringMatching(/^The fact \w+ was not given\.$/) })
  }
})

test('transition: all guards of an edge must hold, and each says why it does not', () => {
  const facts = { open_questions: 1, is_configured: true, has_turn: true }
  const decide = (known: typeof facts) => transition(runMachine, 'waiting_user', 'restart.preserve_waiting', known)
  expect(decide(facts)).toMatchObject({ allowed: true, to: 'waiting_user' })
  const failing = { open_questions: 0, is_configured: false, has_turn: false }
  for (const fact of Object.keys(facts) as (keyof typeof facts)[]) {
    const decision = decide({ ...facts, [fact]: failing[fact] })
    expect(decision).toMatchObject({ allowed: false, refusal: 'guarded' })
    expect(decision.readings.filter(({ holds }) => !holds)).toHaveLength(1)
  }
})

test('transition: of several candidates the first declared one wins', () => {
  const finish = (holds: (guard: string) => boolean) => suppose(turnMachine, 'tool_executing', 'tools_finished', holds)
  expect(finish(() => true)).toMatchObject({ to: 'streaming' })
  expect(finish((guard) => guard === 'no_more_calls')).toMatchObject({ to: 'completed' })
  expect(transition(turnMachine, 'tool_executing', 'tools_finished', { ended_by: 'orders.close' })).toMatchObject({
    to: 'completed',
  })
})

test('transition: a state that the machine does not have, from an old log perhaps, is refused and not a crash', () => {
  const unknown = 'hibernating' as 'waiting'
  expect(transition(contractMachine, unknown, 'resume')).toMatchObject({ refusal: 'undeclared', legal: [] })
})

test('transition: a decision is frozen and cannot be changed by its caller', () => {
  const decision = transition(contractMachine, 'pending', 'start')
  expect(Object.isFrozen(decision)).toBe(true)
  const refusal = transition(contractMachine, 'pending', 'succeed')
  expect(refusal.allowed === false && Object.isFrozen(refusal.legal)).toBe(true)
})
