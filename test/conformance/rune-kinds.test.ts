import { expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { isKind, kinds } from '../../src/runes/kinds.ts'

test.each(machines.map((machine) => [machine.name, machine as Machine] as const))(
  'rune kinds: every rune that machine %s writes has a shape',
  (_, machine) => {
    const written = runeKinds(machine)
    expect(written.length).toBeGreaterThan(0)
    expect(written.filter((kind) => !isKind(kind))).toEqual([])
  },
)

test('rune kinds: a kind that is named like the move of a machine is written by that machine', () => {
  const moved = Object.keys(kinds).filter((kind) => kind.endsWith('.moved'))
  const written = machines.flatMap((machine: Machine) => runeKinds(machine))
  expect(moved.filter((kind) => !written.includes(kind))).toEqual([])
})

/** Every kind of rune this machine writes itself: its opening and its own moves. */
function runeKinds(machine: Machine): readonly string[] {
  const moves = machine.transitions.flatMap((t) => (t.carried || t.rune === null ? [] : [t.rune]))
  return [...new Set([...(machine.opens === null ? [] : [machine.opens]), ...moves])]
}
