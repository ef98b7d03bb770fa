import type { Rune } from '../runes/rune.ts'
import { elapsed } from './elapsed.ts'
import { subjectMoves } from './subject-moves.ts'

export interface TimeInState {
  readonly state: string
  /** How often the subject entered it. */
  readonly visits: number
  readonly total_ms: number
}

/** How long a subject has been in each of its states, in the order in which it first entered them. */
export function durations(runes: Iterable<Rune>, subject_id: string, now: number): readonly TimeInState[] {
  const times = new Map<string, TimeInState>()
  const add = (state: string, visits: number, ms: number) => {
    const so_far = times.get(state) ?? { state, visits: 0, total_ms: 0 }
    times.set(state, { state, visits: so_far.visits + visits, total_ms: so_far.total_ms + ms })
  }

  let current: { readonly state: string; readonly since: number } | undefined
  for (const { subject_id: id, to, at } of subjectMoves(runes)) {
    if (id !== subject_id || current?.state === to) continue
    if (current !== undefined) add(current.state, 0, elapsed(current.since, at))
    add(to, 1, 0)
    current = { state: to, since: at }
  }
  if (current !== undefined) add(current.state, 0, elapsed(current.since, now))
  return [...times.values()]
}
