import { expect } from 'vitest'
import { faults } from '../../src/faults/catalogue.ts'
import { type StateOf, stateNames, triggerNames } from '../../src/kernel/machine.ts'
import { topology } from '../../src/kernel/topology.ts'
import { transition } from '../../src/kernel/transition.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { scenario } from '../support/scenario.ts'

type Status = StateOf<typeof contractMachine>

const terminal: readonly Status[] = ['completed', 'failed', 'rejected', 'cancelled']

/** Every way out of a status, found by trying every trigger there is. */
function waysOut(status: Status): Record<string, string> {
  const decisions = triggerNames(contractMachine).map((trigger) => transition(contractMachine, status, trigger))
  return Object.fromEntries(decisions.flatMap((decision) => (decision.allowed ? [[decision.on, decision.to]] : [])))
}

scenario('EC-03', 'Valid status values', () => {
  // GIVEN the statuses of a contract
  const statuses = stateNames(contractMachine)

  // THEN there are exactly these seven
  expect(statuses).toEqual(['pending', 'running', 'waiting', 'completed', 'failed', 'rejected', 'cancelled'])
  // AND these four are terminal: nothing leaves them
  expect(statuses.filter((status) => contractMachine.states[status].terminal)).toEqual(terminal)
  for (const status of terminal) expect(waysOut(status)).toEqual({})
  // AND waiting may last for as long as it likes
  expect(contractMachine.states.waiting.stable).toBe(true)
})

scenario('EC-04', 'Valid state transitions', () => {
  // GIVEN a pending contract, THEN it can only be started
  expect(waysOut('pending')).toEqual({ start: 'running' })

  // GIVEN a running contract, THEN it ends in one of four ways or is suspended
  expect(waysOut('running')).toEqual({
    succeed: 'completed',
    fail: 'failed',
    reject: 'rejected',
    suspend: 'waiting',
    cancel: 'cancelled',
  })

  // GIVEN a waiting contract, THEN it is resumed, or cancelled by request or by timeout
  expect(waysOut('waiting')).toEqual({ resume: 'running', cancel: 'cancelled', timeout: 'cancelled' })
})

scenario('EC-05', 'Invalid state transition rejected', () => {
  for (const status of terminal) {
    for (const trigger of triggerNames(contractMachine)) {
      // GIVEN a contract in a terminal status, WHEN any transition is attempted
      const decision = transition(contractMachine, status, trigger)

      // THEN it is refused, the status is what it was, and there is an error to raise that says so
      if (decision.allowed) throw new Error(`${status} was left on ${trigger}`)
      expect(decision).toEqual({
        allowed: false,
        from: status,
        on: trigger,
        refusal: 'terminal',
        legal: [],
        readings: [],
      })
      const fault = faults.transition_refused({ machine: 'contract', id: 'exe_1', ...decision })
      expect(fault).toMatchObject({ code: 'transition_refused', http: 409, retry: 'never' })
      expect(fault.message).toBe(`contract exe_1 is ${status} and refuses "${trigger}"; it accepts nothing.`)
    }
  }
})

scenario('OB-14', 'Internal topology for validation', () => {
  // WHEN the topology is asked for
  const found = topology(contractMachine)

  // THEN it has all seven nodes, each with its flags
  const flags = found.nodes.map((n) => [n.status, n.is_terminal, n.is_initial, n.is_stable, n.is_resumable])
  expect(flags).toEqual([
    ['pending', false, true, false, false],
    ['running', false, false, false, false],
    ['waiting', false, false, true, true],
    ['completed', true, false, true, false],
    ['failed', true, false, true, false],
    ['rejected', true, false, true, false],
    ['cancelled', true, false, true, false],
  ])
  // AND every valid edge with its trigger
  expect(found.edges.map((e) => `${e.from_status} ${e.trigger} ${e.to_status}`)).toEqual([
    'pending start running',
    'running succeed completed',
    'running fail failed',
    'running reject rejected',
    'running suspend waiting',
    'running cancel cancelled',
    'waiting resume running',
    'waiting cancel cancelled',
    'waiting timeout cancelled',
  ])
  // AND nothing leaves a terminal status
  expect(found.terminal_statuses).toEqual(terminal)
  expect(found.edges.filter((e) => found.terminal_statuses.includes(e.from_status))).toEqual([])
  // AND only waiting can be resumed
  expect(found.resumable_statuses).toEqual(['waiting'])
})

scenario('OB-15', 'Forbidden transitions included', () => {
  // WHEN the topology is asked for
  const { forbidden_transitions, edges, nodes } = topology(contractMachine)

  // THEN the two that the specification gives as examples are among the forbidden ones
  const pairs = forbidden_transitions.map((f) => `${f.from_status} → ${f.to_status}`)
  expect(pairs).toContain('completed → running')
  expect(pairs).toContain('waiting → completed')
  // AND each has a reason
  for (const { reason } of forbidden_transitions) expect(reason).toMatch(/^\S.+\.$/)
  // AND together with the edges they speak of every pair of different statuses, each once
  const allowed = new Set(edges.map((e) => `${e.from_status} → ${e.to_status}`))
  expect(pairs).toHaveLength(34)
  expect(new Set([...pairs, ...allowed]).size).toBe(nodes.length * (nodes.length - 1))
  expect(allowed.isDisjointFrom(new Set(pairs))).toBe(true)
})
