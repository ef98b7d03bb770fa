import { isTerminal, type Machine } from '../../src/kernel/machine.ts'

/** The states in rows: each below all that lead to it, except where that would lead back; ends in the last row. */
export function rowsOf(machine: Machine): readonly (readonly string[])[] {
  const isEnd = (state: string) => isTerminal(machine, state)
  const forward = forwardEdges(machine)
  const depth = new Map(Object.keys(machine.states).map((state) => [state, 0]))
  // No path is longer than there are states.
  for (const _ of depth)
    for (const { from, to } of forward) depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(from) ?? 0) + 1))
  const inner = [...depth.keys()].filter((state) => !isEnd(state))
  const last = Math.max(...inner.map((state) => depth.get(state) ?? 0))
  const rows = Array.from({ length: last + 1 }, (_, i) => inner.filter((state) => depth.get(state) === i))
  const ends = [...depth.keys()].filter(isEnd)
  return [...rows, ends].filter((row) => row.length > 0)
}

/** The edges without those that lead back to a state on the way. */
function forwardEdges({ initial, transitions }: Machine): readonly { from: string; to: string }[] {
  const forward: { from: string; to: string }[] = []
  const isOpen = new Set<string>()
  const isSeen = new Set<string>()
  function visit(state: string) {
    isSeen.add(state)
    isOpen.add(state)
    for (const { from, to } of transitions) {
      if (from !== state || isOpen.has(to)) continue
      forward.push({ from, to })
      if (!isSeen.has(to)) visit(to)
    }
    isOpen.delete(state)
  }
  visit(initial)
  return forward
}
