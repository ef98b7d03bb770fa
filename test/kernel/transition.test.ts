import { expect, test } from 'vitest'
import { transition } from '../../src/kernel/transition.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { runMachine } from '../../src/machines/run.ts'
import { turnMachine } from '../../src/machines/turn.ts'

test('yes is a value that names the edge it took', () => {
  const decision = transition(contractMachine, 'running', 'suspend')
  expect(decision).toEqual({
    allowed: true,
    from: 'running',
    on: 'suspend',
    to: 'waiting',
    edge: { from: 'running', on: 'suspend', to: 'waiting', rune: 'contract.moved' },
  })
})

test('no is a value too: terminal, undeclared or guarded, with the triggers that are legal here', () => {
  expect(transition(contractMachine, 'completed', 'start')).toEqual({
    allowed: false,
    from: 'completed',
    on: 'start',
    refusal: 'terminal',
    legal: [],
  })
  expect(transition(contractMachine, 'waiting', 'succeed')).toEqual({
    allowed: false,
    from: 'waiting',
    on: 'succeed',
    refusal: 'undeclared',
    legal: ['resume', 'cancel', 'timeout'],
  })
  expect(transition(turnMachine, 'idle', 'start_turn', { input: false })).toEqual({
    allowed: false,
    from: 'idle',
    on: 'start_turn',
    refusal: 'guarded',
    legal: ['start_turn'],
  })
})

test('a guard that nobody vouched for does not hold', () => {
  expect(transition(turnMachine, 'idle', 'start_turn')).toMatchObject({ refusal: 'guarded' })
  expect(transition(turnMachine, 'idle', 'start_turn', {})).toMatchObject({ refusal: 'guarded' })
  expect(transition(turnMachine, 'idle', 'start_turn', { input: true })).toMatchObject({ to: 'streaming' })
})

test('all guards of an edge must hold', () => {
  const guards = { interaction_is_open: true, agent_is_configured: true, checkpoint_verifies: true }
  const decide = (known: typeof guards) => transition(runMachine, 'waiting_user', 'restart.preserve_waiting', known)
  expect(decide(guards)).toMatchObject({ allowed: true, to: 'waiting_user' })
  for (const guard of Object.keys(guards))
    expect(decide({ ...guards, [guard]: false })).toMatchObject({ allowed: false, refusal: 'guarded' })
})

test('of several candidates the first declared one wins', () => {
  const finish = (guards: { continue?: boolean; no_more_calls?: boolean }) =>
    transition(turnMachine, 'tool_executing', 'tools_finished', guards)
  expect(finish({ continue: true, no_more_calls: true })).toMatchObject({ to: 'streaming' })
  expect(finish({ no_more_calls: true })).toMatchObject({ to: 'completed' })
})

test('a state that the machine does not have, from an old log perhaps, is refused and not a crash', () => {
  const unknown = 'hibernating' as 'waiting'
  expect(transition(contractMachine, unknown, 'resume')).toMatchObject({ refusal: 'undeclared', legal: [] })
})

test('a decision cannot be changed by the one who got it', () => {
  const decision = transition(contractMachine, 'pending', 'start')
  expect(Object.isFrozen(decision)).toBe(true)
  const refusal = transition(contractMachine, 'pending', 'succeed')
  expect(refusal.allowed === false && Object.isFrozen(refusal.legal)).toBe(true)
})
