import type { Rune } from '../runes/rune.ts'
import type { Listener, Runelog, Source } from './port.ts'

/** Tells readers in this process that a log has grown. */
export interface Bell {
  /** After a commit: wakes the followers of these sessions, and every listener. */
  ring(session_ids: readonly string[], source?: Source): void
  /** Wakes every follower and listener to read the log: notifications may be lost, or the store is poisoned. */
  ringAll(): void
  listen(listener: Listener): () => void
  /** Calls back whenever this session is rung. Returns `unsubscribe`. */
  on(session_id: string, wake: () => void): () => void
  isAwaited(session_id: string): boolean
}

/** Thousands may follow one session each, so a commit wakes only the followers of its sessions. */
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

/** The cached runes of a session's end. A follower that is further behind reads the log. */
const kept = 1_024

/** The cached sessions without a follower, and their runes: the client of a new session follows it a moment later. */
const begun = { sessions: 256, runes: 32 }

interface Tail {
  add(session_id: string, runes: readonly Rune[]): void
  /** The runes after a cursor; undefined if only the log can tell. */
  after(session_id: string, cursor: number): readonly Rune[] | undefined
  forget(session_id: string): void
}

/** The ends of sessions that are followed or new, so that they need not be read back. For a store with one writer. */
export function createTail(isFollowed: (session_id: string) => boolean): Tail {
  const followed = new Map<string, Rune[]>()
  const fresh = new Map<string, Rune[]>()

  function addFresh(session_id: string, runes: readonly Rune[]) {
    followed.delete(session_id)
    const tail = fresh.get(session_id) ?? (runes[0]?.event_id === 1 ? [] : undefined)
    if (tail === undefined) return
    tail.push(...runes)
    if (tail.length > begun.runes) fresh.delete(session_id)
    else fresh.set(session_id, tail)
    const [oldest] = fresh.keys()
    if (fresh.size > begun.sessions && oldest !== undefined) fresh.delete(oldest)
  }

  return {
    add(session_id, runes) {
      if (!isFollowed(session_id)) return addFresh(session_id, runes)
      const tail = followed.get(session_id) ?? fresh.get(session_id) ?? []
      fresh.delete(session_id)
      tail.push(...runes)
      if (tail.length > 2 * kept) tail.splice(0, tail.length - kept)
      followed.set(session_id, tail)
    },
    after(session_id, cursor) {
      const tail = followed.get(session_id) ?? fresh.get(session_id)
      const first = tail?.[0]?.event_id
      if (tail === undefined || first === undefined || cursor < first - 1) return undefined
      return tail.slice(cursor - first + 1)
    },
    forget(session_id) {
      followed.delete(session_id)
      fresh.delete(session_id)
    },
  }
}

const atOnce = 256

interface Followed {
  readonly read: Runelog['read']
  readonly bell: Bell
  readonly tail?: Tail
  readonly check?: () => void
}

/**
 * All runes after a cursor: first the recorded ones, then new ones. The bell only says when to read, so a lost
 * notification loses no rune. `check` throws once the store is poisoned, which the tail would not show.
 */
export async function* follow(
  { read, bell, tail, check }: Followed,
  session_id: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Rune, void, void> {
  let cursor = after
  let rung = false
  let wake = () => {}
  const ring = () => {
    rung = true
    wake()
  }
  const unsubscribe = bell.on(session_id, ring)
  signal.addEventListener('abort', ring)
  try {
    while (!signal.aborted) {
      rung = false
      const runes = tail?.after(session_id, cursor) ?? (await read(session_id, { after: cursor, limit: atOnce }))
      for (const rune of runes) {
        if (signal.aborted) return
        yield rune
        cursor = rune.event_id
      }
      if (runes.length > 0 || rung) continue
      check?.()
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', ring)
    // The last follower removes the tail, since no later append may do so.
    if (!bell.isAwaited(session_id)) tail?.forget(session_id)
  }
}
