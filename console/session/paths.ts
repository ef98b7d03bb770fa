import { machineNamed } from '../../src/machines/all.ts'
import { movesIn, type SubjectMove } from '../../src/observation/subject-moves.ts'
import type { Rune } from '../../src/runes/rune.ts'

/** The states of every subject over time, as far as the runes tell. */
interface Paths {
  readonly moves: Map<string, SubjectMove[]>
  readonly take: (rune: Rune) => void
}

/** Collects the moves of each subject. */
export function createPaths(): Paths {
  const moves = new Map<string, SubjectMove[]>()
  const states = new Map<string, string>()
  return {
    moves,
    take(rune) {
      for (const move of movesIn(rune, states)) {
        states.set(move.subject_id, move.to)
        const own = moves.get(move.subject_id)
        if (own === undefined) moves.set(move.subject_id, [move])
        else own.push(move)
      }
    },
  }
}

/** How often each transition of a declaration was taken, by its place in it. */
export function timesTaken(machine: string, moves: readonly SubjectMove[]): ReadonlyMap<number, number> {
  const edges = machineNamed(machine)?.transitions ?? []
  const taken = new Map<number, number>()
  for (const { from, to, trigger } of moves) {
    const edge = edges.findIndex((one) => one.from === from && one.to === to && one.on === trigger)
    if (edge >= 0) taken.set(edge, (taken.get(edge) ?? 0) + 1)
  }
  return taken
}
