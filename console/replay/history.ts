import { foldSession, newSessionState } from '../../src/observation/fold-session.ts'
import type { SessionState } from '../../src/observation/session-state.ts'
import { movesIn, type SubjectAt } from '../../src/observation/subject-moves.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { isProblem } from '../tones.ts'

interface Moment {
  /** The basis of decisions at that moment. */
  readonly state: SessionState
  /** Where every subject was, those that were over included. */
  readonly subjects: ReadonlyMap<string, SubjectAt>
}

/** An event that the slider marks. */
export interface Mark {
  readonly place: number
  readonly kind: 'problem' | 'person' | 'restart'
  readonly text: string
}

interface History {
  readonly event_ids: readonly number[]
  /** The events that moved something. */
  readonly moving: readonly number[]
  readonly marks: readonly Mark[]
  readonly at: (event_id: number) => Moment
}

/** Every so many events the whole state is kept, so that no moment is far from one. */
const apart = 1_000

interface Kept {
  readonly state: SessionState
  readonly subjects: Map<string, SubjectAt>
  readonly states: Map<string, string>
}

/** A session that can be looked at as it was after any of its events. */
export function createHistory(runes: readonly Rune[]): History {
  const kept: Kept[] = []
  const moving: number[] = []
  const marks: Mark[] = []
  const walk = blank(runes[0]?.session_id ?? '')
  for (const [place, rune] of runes.entries()) {
    if (place % apart === 0) kept.push(copy(walk))
    if (take(walk, rune)) moving.push(rune.event_id)
    const mark = markOf(rune)
    if (mark !== undefined) marks.push({ place, ...mark })
  }
  const event_ids = runes.map((rune) => rune.event_id)

  function at(event_id: number): Moment {
    const end = placeAfter(event_ids, event_id)
    const from = Math.min(kept.length - 1, Math.floor(Math.max(0, end - 1) / apart))
    const near = kept[from]
    const moment = near === undefined ? blank('') : copy(near)
    for (let place = from * apart; place < end; place++) take(moment, runes[place] as Rune)
    return moment
  }
  return { event_ids, moving, marks, at }
}

function blank(session_id: string): Kept {
  return { state: newSessionState(session_id), subjects: new Map(), states: new Map() }
}

function copy({ state, subjects, states }: Kept): Kept {
  return { state: structuredClone(state), subjects: new Map(subjects), states: new Map(states) }
}

/** Whether it changed the state of anything. */
function take(kept: Kept, rune: Rune): boolean {
  let moved = false
  for (const { machine, subject_id, to, at, event_id } of movesIn(rune, kept.states)) {
    if (kept.states.get(subject_id) === to) continue
    moved = true
    kept.states.set(subject_id, to)
    kept.subjects.set(subject_id, { machine, subject_id, state: to, since: at, event_id })
  }
  foldSession(kept.state, rune)
  return moved
}

function placeAfter(ids: readonly number[], event_id: number): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ids[middle] as number) <= event_id) low = middle + 1
    else high = middle
  }
  return low
}

function markOf(rune: Rune): Omit<Mark, 'place'> | undefined {
  const { kind, to, trigger, event_id } = rune
  if (trigger?.startsWith('restart.')) return { kind: 'restart', text: `${trigger}, event ${event_id}` }
  if (kind === 'interaction.answered' || kind === 'run.requested')
    return { kind: 'person', text: `${kind}, event ${event_id}` }
  return isProblem(rune) ? { kind: 'problem', text: `${kind} → ${to ?? ''}, event ${event_id}` } : undefined
}
