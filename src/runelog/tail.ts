import type { Rune } from '../runes/rune.ts'

/** How much of a session's end is kept at hand. A follower that is further behind reads the log. */
const kept = 1_024

export interface Tail {
  /** After a commit. */
  add(session_id: string, runes: readonly Rune[]): void
  /** What comes after a cursor; undefined if only the log can tell. */
  after(session_id: string, cursor: number): readonly Rune[] | undefined
  forget(session_id: string): void
}

/**
 * The ends of sessions that someone follows, so that what was just written need
 * not be read back. Only for a store with one writer: there the end of the tail
 * is the end of the log.
 */
export function createTail(isFollowed: (session_id: string) => boolean): Tail {
  const tails = new Map<string, Rune[]>()

  return {
    add(session_id, runes) {
      if (!isFollowed(session_id)) {
        tails.delete(session_id)
        return
      }
      const tail = tails.get(session_id) ?? []
      tail.push(...runes)
      if (tail.length > 2 * kept) tail.splice(0, tail.length - kept)
      tails.set(session_id, tail)
    },
    after(session_id, cursor) {
      const tail = tails.get(session_id)
      const first = tail?.[0]?.event_id
      if (tail === undefined || first === undefined || cursor < first - 1) return undefined
      return tail.slice(cursor - first + 1)
    },
    forget: (session_id) => void tails.delete(session_id),
  }
}
