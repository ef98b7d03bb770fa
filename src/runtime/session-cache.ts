import { faults } from '../faults/catalogue.ts'
import { foldSession, newSessionState } from '../observation/fold-session.ts'
import type { SessionState } from '../observation/session-state.ts'
import type { Append, Runelog } from '../runelog/port.ts'
import type { Rune } from '../runes/rune.ts'
import type { Batch } from './batch.ts'

export interface Sessions {
  /** The state of a session as of its last rune. The same object each time: it changes as runes are folded in. */
  load(session_id: string): Promise<SessionState>
  /** Records a batch and folds it in. What it records is true, and known here, when the promise resolves. */
  commit(state: SessionState, batch: Batch, terms: Pick<Append, 'expect' | 'fence'>): Promise<readonly Rune[]>
  /** Folds in what others recorded. */
  refresh(state: SessionState): Promise<void>
  /** Calls back whenever something new was folded into a session. Returns the way to stop. */
  listen(session_id: string, listener: () => void): () => void
}

/** How many sessions stay folded. One that nobody worked on for a while is folded anew when it is needed. */
const kept = 2_000

/**
 * Folded sessions, kept at hand. `exclusive` says that nobody else writes to
 * the store, so that what was folded once stays current by itself.
 */
export function createSessions(runelog: Runelog, exclusive: boolean): Sessions {
  const states = new Map<string, SessionState>()
  const loading = new Map<string, Promise<SessionState>>()

  const listeners = new Map<string, Set<() => void>>()
  const told = ({ session_id }: SessionState) => {
    for (const listener of listeners.get(session_id) ?? []) listener()
  }
  // What other processes record is folded in for those who listen; everyone else looks when he needs it.
  if (!exclusive)
    runelog.watch((session_ids) => {
      for (const session_id of session_ids) {
        const state = listeners.has(session_id) ? states.get(session_id) : undefined
        if (state !== undefined) void refresh(state)
      }
    })

  async function refresh(state: SessionState) {
    const from = state.event_id
    await readOn(state)
    if (state.event_id !== from) told(state)
  }

  async function readOn(state: SessionState) {
    for (;;) {
      const runes = await runelog.read(state.session_id, { after: state.event_id, limit: 10_000 })
      const before = state.event_id
      for (const rune of runes) if (rune.event_id === state.event_id + 1) foldSession(state, rune)
      if (runes.length < 10_000 || state.event_id === before) return
    }
  }

  async function first(session_id: string): Promise<SessionState> {
    const state = newSessionState(session_id)
    await refresh(state)
    if (state.event_id === 0) throw faults.not_found({ what: 'session', id: session_id })
    keep(state)
    return state
  }

  function keep(state: SessionState) {
    states.delete(state.session_id)
    states.set(state.session_id, state)
    if (states.size <= kept) return
    // A session that someone works on stays: two folds of it would not know of each other's moves.
    for (const [id, { runs }] of states) {
      if ([...runs.values()].some((run) => run.status === 'running')) continue
      states.delete(id)
      if (states.size <= kept) return
    }
  }

  return {
    refresh,

    async load(session_id) {
      const known = states.get(session_id)
      if (known !== undefined) {
        if (!exclusive) await refresh(known)
        return known
      }
      const under_way = loading.get(session_id) ?? first(session_id).finally(() => loading.delete(session_id))
      loading.set(session_id, under_way)
      return under_way
    },

    async commit(state, batch, terms) {
      batch.check()
      const runes = await runelog.append({ session_id: state.session_id, runes: batch.runes, ...terms })
      if (!states.has(state.session_id)) keep(state)
      for (const rune of runes) {
        if (rune.event_id <= state.event_id) continue
        // Someone else's runes came in between: take everything from the log, in its order.
        if (rune.event_id !== state.event_id + 1) {
          await readOn(state)
          break
        }
        foldSession(state, rune)
      }
      told(state)
      return runes
    },

    listen(session_id, listener) {
      const all = listeners.get(session_id) ?? new Set()
      listeners.set(session_id, all.add(listener))
      return () => {
        all.delete(listener)
        if (all.size === 0) listeners.delete(session_id)
      }
    },
  }
}
