import { type SubjectAt, type SubjectMove, subjectMoves } from '../../src/observation/subject-moves.ts'
import type { Rune } from '../../src/runes/rune.ts'

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
