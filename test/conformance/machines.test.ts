import { describe, expect, test } from 'vitest'
import { type Machine, triggerNames } from '../../src/kernel/machine.ts'
import { suppose } from '../../src/kernel/transition.ts'
import { machines as declared } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { withEdge, withoutEdge, withoutGuard } from './mutate.ts'
import { checkCarriedOwned, checkForbiddenComplete, checkKindsOwnedOnce, checks } from './shape.ts'
import { type Decide, tableCases, tableDifferences } from './table.ts'

const machines: readonly Machine[] = declared
const deciding =
  (machine: Machine): Decide =>
  (from, on, guards) =>
    suppose(machine, from, on, (guard) => guards[guard] === true)

describe.each(machines.map((machine) => [machine.name, machine] as const))('machine %s: conformance', (_, machine) => {
  test('suppose() answers as the table reads, for every state, trigger and guard valuation', () => {
    expect([...tableDifferences(machine, deciding(machine))]).toEqual([])
    const cases = [...tableCases(machine)].length
    expect(cases).toBeGreaterThanOrEqual(Object.keys(machine.states).length * triggerNames(machine).length)
  })

  test.each(Object.entries(checks))('%s finds nothing', (__, check) => {
    expect(check(machine)).toEqual([])
  })

  test('every removed edge, changed target and ignored guard is noticed', () => {
    const names = Object.keys(machine.states)
    const mutants = machine.transitions.flatMap((edge, i) =>
      [
        withoutEdge(machine, i),
        ...names.filter((name) => name !== edge.to).map((to) => withEdge(machine, i, { to })),
        ...(edge.when ?? []).map((guard) => withoutGuard(machine, i, guard)),
      ].map((mutant) => ({ mutant, edge })),
    )
    // Only the row of the changed edge is asked again: the others are as they were, and this test has many mutants.
    const unnoticed = mutants.filter(
      ({ mutant, edge }) => tableDifferences(machine, deciding(mutant), [edge.from]).next().done,
    )
    expect(mutants.length).toBeGreaterThanOrEqual(machine.transitions.length * names.length)
    expect(unnoticed).toEqual([])
  })
})

test('machines: a contract forbids exactly the 34 moves that it does not have', () => {
  expect(checkForbiddenComplete(contractMachine)).toEqual([])
  expect(contractMachine.forbidden).toHaveLength(34)
})

test('machines: carried runes are written by another machine, and no kind has two owners', () => {
  expect(checkCarriedOwned(machines)).toEqual([])
  expect(checkKindsOwnedOnce(machines)).toEqual([])
})

test('machines: machine names are unique', () => {
  expect(new Set(machines.map((machine) => machine.name)).size).toBe(machines.length)
  expect(machines).toHaveLength(10)
})
