import { faults } from '../faults/catalogue.ts'
import { type ContractHistory, type GrowingHistories, tellHistories } from '../observation/contract.ts'
import { foldSession, newSessionState } from '../observation/fold-session.ts'
import type { SessionState } from '../observation/session-state.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Rune } from '../runes/rune.ts'

/** A session as of its last rune, for those who only look. */
export interface SessionView {
  readonly state: SessionState
  /** Its runes without what only accompanies them: text and output on their way. */
  readonly steps: readonly Rune[]
  readonly histories: ReadonlyMap<string, ContractHistory>
}

export interface SessionViews {
  /** Refused with `not_found` if there is no such session. */
  of(session_id: string): Promise<SessionView>
}

interface Growing extends SessionView {
  readonly steps: Rune[]
  readonly histories: GrowingHistories
}

/** How many runes are kept at hand over all sessions. Those looked at longest ago go first. */
const kept = 100_000

const accompanying: ReadonlySet<string> = new Set<Rune['kind']>(['turn.assistant_delta', 'tool.progress'])

/** Reads a session once and then only what is new, so that looking costs the same however long it has become. */
export function createSessionViews(runelog: Runelog): SessionViews {
  const views = new Map<string, Growing>()
  const reading = new Map<string, Promise<void>>()
  let size = 0

  function forget(session_id: string) {
    size -= views.get(session_id)?.steps.length ?? 0
    views.delete(session_id)
  }

  async function look(session_id: string): Promise<SessionView> {
    const head = await runelog.head(session_id)
    if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const known = views.get(session_id)
    if (known?.state.event_id === head.event_id) return refreshed(session_id, known)
    const view: Growing = known ?? { state: newSessionState(session_id), steps: [], histories: new Map() }
    forget(session_id)
    // What was erased must not be shown from memory.
    if (!(await readOn(view))) return look(session_id)
    return refreshed(session_id, view)
  }

  /** False if something that was read before has been redacted since. */
  async function readOn({ state, steps, histories }: Growing): Promise<boolean> {
    const from = state.event_id
    for (;;) {
      const runes = await runelog.read(state.session_id, { after: state.event_id, limit: 5_000 })
      for (const rune of runes) {
        if (from > 0 && rune.kind === 'rune.redacted') return false
        foldSession(state, rune)
        tellHistories(histories, rune)
        if (!accompanying.has(rune.kind)) steps.push(rune)
      }
      if (runes.length < 5_000) return true
    }
  }

  function refreshed(session_id: string, view: Growing): SessionView {
    forget(session_id)
    views.set(session_id, view)
    size += view.steps.length
    for (const id of views.keys()) {
      if (size <= kept || id === session_id) break
      forget(id)
    }
    return view
  }

  return {
    // One after the other: two at once would fold the same runes twice into one state, and whoever shares the look of
    // someone who came before might not see what was acknowledged to him since.
    of(session_id) {
      const before = reading.get(session_id)
      const looking = before === undefined ? look(session_id) : before.then(() => look(session_id))
      const over = looking.then(
        () => {},
        () => {},
      )
      reading.set(session_id, over)
      void over.then(() => {
        if (reading.get(session_id) === over) reading.delete(session_id)
      })
      return looking
    },
  }
}
