import { faults } from '../faults/catalogue.ts'
import type { MachineName } from '../machines/all.ts'
import { addToHistories, type ContractHistory, type GrowingHistories } from '../observation/contract.ts'
import { foldSession, newSessionState } from '../observation/fold-session.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import { visible } from '../observation/visible.ts'
import { createLines, type Lines } from '../observation/waiting-line.ts'
import { subjects } from '../runelog/models.ts'
import type { RunelogReader } from '../runelog/port.ts'
import { othersTurn, sliceRunes } from '../runelog/slices.ts'
import type { Rune } from '../runes/rune.ts'
import { runOf } from '../runtime/engine.ts'

/** A folded session for readers, as of its last rune. Runes that are not public have no content in any part of it. */
export interface SessionView {
  readonly state: SessionState
  /** Its runes without `turn.assistant_delta` and `tool.progress`. */
  readonly steps: readonly Rune[]
  readonly histories: ReadonlyMap<string, ContractHistory>
  /** Where every subject is, and what is going on in words. */
  readonly lines: Lines
  /** Contracts with a secret rune. No view shows them. */
  readonly hidden: ReadonlySet<string>
}

/** The folded sessions of readers, in memory. They hold what `visible` leaves of each rune. */
export interface SessionViews {
  /** Refused with `not_found` if there is no such session. */
  of(session_id: string): Promise<SessionView>
  /** The session that a subject of this machine belongs to. Refused with `not_found` if there is no such subject. */
  sessionOf(machine: MachineName, subject_id: string): Promise<string>
}

interface Growing extends SessionView {
  readonly steps: Rune[]
  readonly histories: GrowingHistories
  readonly hidden: Set<string>
  /** This process knows of no rune that was recorded since the last read. */
  isFresh: boolean
  /** How often this process was told of new runes. A read that saw it change may have missed one. */
  rung: number
  /** How many of its steps are counted in `size`. */
  counted: number
}

/** How many runes the cache holds over all sessions. The session that was read longest ago is dropped first. */
const keptRunes = 100_000

const accompanying: ReadonlySet<string> = new Set<Rune['kind']>(['turn.assistant_delta', 'tool.progress'])

/** How many subjects have their session remembered. */
const keptPlaces = 100_000

/** Reads each session once, then only new runes. With `isExclusive`, a view without news needs no read. */
export function createSessionViews(runelog: RunelogReader, isExclusive: boolean): SessionViews {
  const places = new Map<string, string>()
  const views = new Map<string, Growing>()
  const reading = new Map<string, Promise<void>>()
  /** Contracts that turned out to be secret after a view showed them. */
  const hiddenIn = new Map<string, Set<string>>()
  let size = 0

  runelog.watch((session_ids, source) => {
    for (const session_id of source === 'lost' ? views.keys() : session_ids) {
      const view = views.get(session_id)
      if (view === undefined) continue
      view.isFresh = false
      view.rung += 1
    }
  })

  function forget(session_id: string) {
    size -= views.get(session_id)?.counted ?? 0
    views.delete(session_id)
  }

  async function look(session_id: string): Promise<SessionView> {
    const known = views.get(session_id)
    const rung = known?.rung ?? -1
    const head = await runelog.head(session_id)
    if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const view = known ?? blank(session_id, hiddenIn.get(session_id) ?? new Set())
    if (view.state.event_id !== head.event_id && !(await readOn(view))) {
      // The cached view has content that was erased or became secret: fold the session again without it.
      forget(session_id)
      return look(session_id)
    }
    // A rune that was recorded during the read may be missing.
    view.isFresh = view.rung === rung
    return keep(session_id, view)
  }

  /** Folds the new runes. False if a rune that was folded before has been redacted, or turned out to be secret. */
  async function readOn(view: Growing): Promise<boolean> {
    const { state, hidden, histories } = view
    const from = state.event_id
    for (;;) {
      const runes = await runelog.read(state.session_id, { after: state.event_id, limit: sliceRunes })
      for (const rune of runes) {
        if (from > 0 && rune.kind === 'rune.redacted') return false
        if (rune.visibility === 'secret' && rune.machine === 'contract' && !hidden.has(rune.execution_id ?? '')) {
          hidden.add(rune.execution_id ?? '')
          hiddenIn.set(state.session_id, hidden)
          // A view has shown it: read everything again without it.
          if (histories.has(rune.execution_id ?? '')) return false
        }
        take(view, rune)
      }
      if (runes.length < sliceRunes) return true
      await othersTurn()
    }
  }

  function keep(session_id: string, view: Growing): SessionView {
    forget(session_id)
    views.set(session_id, view)
    view.counted = view.steps.length
    size += view.counted
    for (const id of views.keys()) {
      if (size <= keptRunes || id === session_id) break
      forget(id)
    }
    return view
  }

  return {
    // Reads of one session run one after the other: two at once would fold the same runes twice, and a caller that
    // shares an earlier read might not see what was acknowledged to it since.
    of(session_id) {
      const known = views.get(session_id)
      if (isExclusive && known?.isFresh) return Promise.resolve(known)
      const before = reading.get(session_id)
      const looking = before === undefined ? look(session_id) : before.then(() => look(session_id))
      const over = looking.then(nothing, nothing)
      reading.set(session_id, over)
      void over.then(() => {
        if (reading.get(session_id) === over) reading.delete(session_id)
      })
      return looking
    },

    async sessionOf(machine, subject_id) {
      const name = `${machine} ${subject_id}`
      const known = places.get(name)
      if (known !== undefined) return known
      const subject = (await runelog.row(subjects, subject_id))?.value
      if (subject?.machine !== machine)
        throw faults.not_found({ what: machine === 'contract' ? 'execution' : machine, id: subject_id })
      if (places.size >= keptPlaces) places.clear()
      places.set(name, subject.session_id)
      return subject.session_id
    },
  }
}

const nothing = () => {}

function take({ state, steps, histories, lines, hidden }: Growing, rune: Rune) {
  const seen = isHidden(rune, hidden) ? undefined : visible(rune)
  state.event_id = rune.event_id
  if (seen === undefined) return
  foldSession(state, seen)
  addToHistories(histories, seen)
  lines.fold(seen)
  if (!accompanying.has(seen.kind)) steps.push(seen)
}

/** Whether a rune belongs to a hidden contract. Its questions are still shown, since a person must answer them. */
export function isHidden({ execution_id, machine }: Rune, hidden: ReadonlySet<string>): boolean {
  return execution_id !== undefined && hidden.has(execution_id) && machine !== 'interaction'
}

function blank(session_id: string, hidden: Set<string>): Growing {
  const empty = { steps: [], histories: new Map(), lines: createLines(), isFresh: false, rung: 0, counted: 0 }
  return { state: newSessionState(session_id), hidden, ...empty }
}

/** A run with the view of its session. */
type FoundRun = { readonly view: SessionView; readonly run: RunView; readonly session_id: string }

/** A run with the view of its session. Refused with `not_found` if there is none. */
export async function findRun({ views }: { readonly views: SessionViews }, run_id: string): Promise<FoundRun> {
  const session_id = await views.sessionOf('run', run_id)
  const view = await views.of(session_id)
  return { view, run: runOf(view.state, run_id), session_id }
}

/** The questions that a run has open, oldest first. */
export function openQuestions({ view, run }: FoundRun): readonly string[] {
  return [...view.state.interactions.values()].flatMap(({ run_id, state, interaction_id }) =>
    run_id === run.run_id && state === 'open' ? [interaction_id] : [],
  )
}
