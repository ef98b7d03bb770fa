/**
 * Where a notice comes from: a commit of this process, or of another one. `lost`
 * says that notices may have been missed, or that none will come because the store
 * is poisoned. Each listener has to look for itself, and meets the fault if there is one.
 */
export type Source = 'own' | 'foreign' | 'lost'

export type Listener = (session_ids: readonly string[], source: Source) => void

export interface Bell {
  /** After a commit: wakes who waits for one of these sessions, and every listener. */
  ring(session_ids: readonly string[], source?: Source): void
  /** Wakes all that wait for a session: notices may have been lost, or the store is poisoned. Each has to look for itself. */
  ringAll(): void
  listen(listener: Listener): () => void
  /** Calls back whenever this session is rung. Returns the way to stop. */
  on(session_id: string, wake: () => void): () => void
  /** Someone waits for this session. */
  isAwaited(session_id: string): boolean
}

/** Thousands may wait, each for one session: a commit wakes those it concerns, not all. */
export function createBell(): Bell {
  const listeners = new Set<Listener>()
  const waiting = new Map<string, Set<() => void>>()

  return {
    ring(session_ids, source = 'own') {
      for (const session_id of session_ids) for (const wake of waiting.get(session_id) ?? []) wake()
      for (const listener of listeners) listener(session_ids, source)
    },
    ringAll() {
      for (const wakes of waiting.values()) for (const wake of wakes) wake()
      for (const listener of listeners) listener([...waiting.keys()], 'lost')
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    on(session_id, wake) {
      const wakes = waiting.get(session_id) ?? new Set()
      waiting.set(session_id, wakes.add(wake))
      return () => {
        wakes.delete(wake)
        if (wakes.size === 0 && waiting.get(session_id) === wakes) waiting.delete(session_id)
      }
    },
    isAwaited: (session_id) => waiting.has(session_id),
  }
}
