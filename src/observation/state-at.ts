import type { MachineName } from '../machines/all.ts'
import type { Rune } from '../runes/rune.ts'
import { type SubjectMove, subjectMoves } from './subject-moves.ts'

export interface SubjectAt {
  readonly machine: MachineName
  readonly subject_id: string
  readonly state: string
  /** When it entered this state. A move that leads back to where it began does not count. */
  readonly since: number
  /** The rune that brought it there. */
  readonly event_id: number
}

/** Where every subject of a session is after a rune, by id, in the order in which they appeared; after all of them by default. */
export function stateAt(runes: Iterable<Rune>, event_id = Number.POSITIVE_INFINITY): ReadonlyMap<string, SubjectAt> {
  const subjects = new Map<string, SubjectAt>()
  for (const move of subjectMoves(runes)) {
    if (move.event_id > event_id) break
    if (subjects.get(move.subject_id)?.state !== move.to) subjects.set(move.subject_id, entered(move))
  }
  return subjects
}

function entered({ machine, subject_id, to, at, event_id }: SubjectMove): SubjectAt {
  return { machine, subject_id, state: to, since: at, event_id }
}
