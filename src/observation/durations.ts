import type { Rune } from '../runes/rune.ts'
import { subjectMoves } from './subject-moves.ts'

/** How long after `from` it is at `to`. A clock may be set back; no duration is negative. */
export function elapsed(from: number, to: number): number {
  return Math.max(0, to - from)
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** A duration for people: `4 min`. Whole units, rounded down, the largest that fits. */
export function span(ms: number): string {
  const [name, size] = units.find((unit) => ms >= unit[1]) ?? ['ms', 1]
  return `${Math.max(0, Math.floor(ms / size))} ${name}`
}

/** The same with the next smaller unit: `4 min 12 s`. Milliseconds count below ten seconds only. */
export function exactSpan(ms: number): string {
  if (ms >= 10_000 && ms < 60_000) return span(ms)
  const at = units.findIndex((unit) => ms >= unit[1])
  const [, size = 1] = units[at] ?? []
  const rest = ms % size
  const smaller = units[at + 1]?.[1] ?? size
  return rest < smaller ? span(ms) : `${span(ms)} ${span(rest - (rest % smaller))}`
}

/** How often and how long a subject was in one state. */
interface TimeInState {
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
