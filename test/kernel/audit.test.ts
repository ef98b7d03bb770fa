import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Machine, stateNames, type Transition, triggerNames } from '../../src/kernel/machine.ts'
import { audit, type Move, restingState, suppose } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { turnMachine } from '../../src/machines/turn.ts'

const runs = { numRuns: process.env.STATEWRIGHT_PROOF ? 20_000 : 300 }

/** A walk along declared edges. Silent moves may be left out, since no rune records them. */
function walkOf(machine: Machine, choices: readonly number[], keepSilent: boolean): readonly Move[] {
  const moves: Move[] = []
  let at = machine.initial
  for (const choice of choices) {
    const leaving = machine.transitions.filter((t) => t.from === at)
    const edge = leaving[choice % leaving.length]
    if (edge === undefined) break
    if (edge.rune !== null || keepSilent)
      moves.push({ from: edge.from, to: edge.to, trigger: edge.on, guards: readingsOf(edge) })
    at = edge.to
  }
  return moves
}

/** Every guard of an edge was read, and held. */
const readingsOf = ({ when = [] }: Transition) => when.map((guard) => ({ guard, holds: true, because: 'It does.' }))

/** Asks `transition` instead of the table whether a sequence of moves could have happened. */
function couldHappen(machine: Machine, moves: readonly Move[]): boolean {
  let at = machine.initial
  return moves.every(({ from, to, trigger, guards = [] }) => {
    const continuous = from === at || from === restingState(machine, at)
    at = to
    const read = new Set(guards.map(({ guard }) => guard))
    const decision = suppose(machine, from, trigger, (guard) => read.has(guard))
    return continuous && decision.allowed && decision.to === to
  })
}

describe.each(machines.map((machine) => [machine.name, machine as Machine] as const))(
  'audit: machine %s',
  (_, machine) => {
    const walk = fc
      .tuple(fc.array(fc.nat(1000), { minLength: 1, maxLength: 12 }), fc.boolean())
      .map(([choices, keepSilent]) => walkOf(machine, choices, keepSilent))
      .filter((moves) => moves.length > 0)

    test('passes every legal walk', () => {
      fc.assert(
        fc.property(walk, (moves) => {
          expect(audit(machine, moves)).toEqual([])
        }),
        runs,
      )
    })

    test('finds a walk with one thing changed, unless it is itself legal', () => {
      const state = fc.constantFrom(...stateNames(machine), 'no_such_state')
      const trigger = fc.constantFrom(...triggerNames(machine), 'no_such_trigger')
      const change = fc.oneof(
        state.map((from) => (move: Move) => [{ ...move, from }]),
        state.map((to) => (move: Move) => [{ ...move, to }]),
        trigger.map((name) => (move: Move) => [{ ...move, trigger: name }]),
        fc.constant((move: Move) => [move, move]),
        fc.constant((): Move[] => []),
      )
      let found = 0
      fc.assert(
        fc.property(walk, fc.nat(), change, (moves, where, mutate) => {
          const i = where % moves.length
          const mutant = moves.flatMap((move, at) => (at === i ? mutate(move) : [move]))
          const problems = audit(machine, mutant)
          found += problems.length > 0 ? 1 : 0
          expect(problems.length === 0).toBe(couldHappen(machine, mutant))
        }),
        runs,
      )
      expect(found).toBeGreaterThan(0)
    })
  },
)

test('audit: a gap and an undeclared move are told apart, with the number of the move', () => {
  const start: Move = { from: 'pending', to: 'running', trigger: 'start' }
  expect(audit(contractMachine, [start, { from: 'waiting', to: 'running', trigger: 'resume' }])).toEqual([
    'move 2 leaves waiting, but the subject was running',
  ])
  expect(audit(contractMachine, [start, { from: 'running', to: 'pending', trigger: 'start' }])).toEqual([
    `move 2: contract v${contractMachine.version} has no running → pending on start`,
  ])
})

test('audit: a subject comes to rest along the edges that the fold applies by itself', () => {
  const ended = stateNames(turnMachine).map((state) => [state, restingState(turnMachine, state)])
  expect(Object.fromEntries(ended)).toEqual({
    idle: 'idle',
    streaming: 'streaming',
    tool_executing: 'tool_executing',
    completed: 'idle',
    interrupted: 'idle',
    error: 'idle',
  })
})

test('audit: a guard that did not hold is named, and so is one that was not read', () => {
  const start = { from: 'idle', to: 'streaming', trigger: 'start_turn' }
  const failed = { guard: 'input', holds: false, because: 'There is nothing to answer.' }
  expect(audit(turnMachine, [start])).toEqual(['move 1: it records no reading of its guard input'])
  expect(audit(turnMachine, [{ ...start, guards: [failed] }])).toEqual([
    'move 1: its guard input did not hold: There is nothing to answer.',
  ])
  expect(audit(turnMachine, [{ ...start, guards: [{ ...failed, holds: true }] }])).toEqual([])
})
