import { expect, test } from 'vitest'
import { defineMachine, type GuardOf, type StateOf, type TriggerOf } from '../../src/kernel/machine.ts'
import { transition } from '../../src/kernel/transition.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { turnMachine } from '../../src/machines/turn.ts'

// The proof is that this file compiles: each expected error must be one. `tsc` is part of every check.

test('inference: wrong names do not compile where a machine is asked', () => {
  // @ts-expect-error there is no such state
  expect(transition(contractMachine, 'begun', 'start').allowed).toBe(false)
  // @ts-expect-error there is no such trigger
  expect(transition(contractMachine, 'pending', 'begin').allowed).toBe(false)
  // @ts-expect-error this is a state of another machine
  expect(transition(contractMachine, 'streaming', 'start').allowed).toBe(false)
  // @ts-expect-error there is no such guard
  expect(transition(turnMachine, 'idle', 'start_turn', { no_such_guard: true }).allowed).toBe(false)
})

test('inference: wrong names do not compile where a machine is declared', () => {
  const states = {
    on: { tone: 'active', meaning: 'Lit.' },
    off: { tone: 'idle', meaning: 'Dark.', terminal: true },
  } as const
  const lamp = { name: 'lamp', version: 1, meaning: 'A lamp.', opens: null, states, forbidden: [] } as const
  const edge = { from: 'on', on: 'press', to: 'off', rune: 'lamp.moved' } as const

  expect(defineMachine({ ...lamp, initial: 'on', transitions: [edge] }).name).toBe('lamp')
  // @ts-expect-error the initial state is none of the states
  expect(defineMachine({ ...lamp, initial: 'dim', transitions: [edge] }).name).toBe('lamp')
  // @ts-expect-error an edge leaves a state that is none
  expect(defineMachine({ ...lamp, initial: 'on', transitions: [{ ...edge, from: 'dim' }] }).name).toBe('lamp')
  // @ts-expect-error an edge leads to a state that is none
  expect(defineMachine({ ...lamp, initial: 'on', transitions: [{ ...edge, to: 'dim' }] }).name).toBe('lamp')
  const forbidden = [{ from: 'off', to: 'dim', because: 'No.' }] as const
  // @ts-expect-error a move is forbidden between states that are none
  expect(defineMachine({ ...lamp, initial: 'on', transitions: [edge], forbidden }).name).toBe('lamp')
  const silent = [{ from: 'on', on: 'press', to: 'off' }] as const
  // @ts-expect-error an edge says which rune records it, or that none does
  expect(defineMachine({ ...lamp, initial: 'on', transitions: silent }).name).toBe('lamp')
})

test('inference: a decision is narrowed by its answer, and its types are those of the machine', () => {
  const decision = transition(contractMachine, 'pending', 'start')
  // @ts-expect-error only an allowed move has a target
  expect(decision.to).toBe('running')
  if (decision.allowed) expect(decision.to satisfies StateOf<typeof contractMachine>).toBe('running')

  const trigger: TriggerOf<typeof contractMachine> = 'resume'
  const guard: GuardOf<typeof turnMachine> = 'unrecoverable'
  // @ts-expect-error not a trigger of this machine
  const other: TriggerOf<typeof contractMachine> = 'steer'
  expect([trigger, guard, other]).toHaveLength(3)
})
