import { edgeName } from '../../scripts/edges.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { restingState } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { carriedMoves } from '../../src/runes/rune.ts'

const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

/** The edges that runes take, where `before` says where subjects were that runes of other machines may move along. */
export function edgesTaken(runes: readonly Rune[], before: ReadonlyMap<string, string | undefined>): readonly string[] {
  const at = new Map(before)
  const edges: string[] = []
  const move = (name: string, subject_id: string, from: string | null, to: string, trigger: string | null) => {
    const machine = byName.get(name) as Machine
    if (from !== null && trigger !== null) edges.push(edgeName(name, { from, to, on: trigger }))
    // Edges that no rune records follow by themselves.
    const onward = machine.transitions.find((edge) => edge.from === to && edge.rune === null)
    if (onward !== undefined) edges.push(edgeName(name, onward))
    at.set(subject_id, restingState(machine, to))
  }
  for (const rune of runes) {
    const { machine, subject_id, from = null, to, trigger = null } = rune
    const carried = carriedMoves(rune, (id) => at.get(id))
    if (machine !== undefined && subject_id !== undefined && to !== undefined)
      move(machine, subject_id, from, to, trigger)
    for (const { machine: other, subject_id: id, from: left, to: entered, trigger: on } of carried)
      move(other, id, left, entered, on)
  }
  return edges
}
