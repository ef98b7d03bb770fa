import type { Rune } from '../runes/rune.ts'

/** How much of a session's end is kept at hand. A follower that is further behind reads the log. */
const kept = 1_024

/** How many sessions without a follower are kept, and how much of each: the client that begins a session follows it a moment later. */
const begun = { sessions: 128, runes: 16 }

export interface Tail {
  /** After a commit. */
  add(session_id: string, runes: readonly Rune[]): void
  /** What comes after a cursor; undefined if only the log can tell. */
  after(session_id: string, cursor: number): readonly Rune[] | undefined
  forget(session_id: string): void
}

/**
 * The ends of sessions that someone follows or has just begun, so that what was just written need not be read back.
 * Only for a store with one writer: there the end of the tail is the end of the log.
 */
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
