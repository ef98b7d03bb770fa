import { isOnSpine, movesIn, outermostFirst } from '../../src/observation/subject-moves.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { SubjectCard } from '../../src/wire/machine.ts'

/** Where one live machine is. */
type SpineEntry = Pick<SubjectCard, 'machine' | 'subject_id' | 'state' | 'since'>

/** Where every live subject is, outermost first. */
export interface Spine {
  readonly entries: () => readonly SpineEntry[]
  readonly stateOf: (subject_id: string) => string | undefined
  readonly take: (rune: Rune) => void
}

/** The spine that the server sent, and the runes after `known`, by the same rules as the server's. */
export function createSpine(given: readonly SpineEntry[], known = 0): Spine {
  const subjects = new Map<string, SpineEntry>(given.map((entry) => [entry.subject_id, entry]))
  const states = new Map(given.map((entry) => [entry.subject_id, entry.state]))

  function take(rune: Rune) {
    if (rune.event_id <= known) return
    for (const { machine, subject_id, to: state, at: since } of movesIn(rune, states)) {
      const isNew = states.get(subject_id) !== state
      states.set(subject_id, state)
      if (!isOnSpine({ machine, state })) subjects.delete(subject_id)
      else if (isNew || !subjects.has(subject_id)) subjects.set(subject_id, { machine, subject_id, state, since })
    }
  }

  return {
    entries: () => outermostFirst(subjects.values()),
    stateOf: (subject_id) => states.get(subject_id),
    take,
  }
}
