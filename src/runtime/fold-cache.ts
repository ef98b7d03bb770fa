/**
 * A folded session, kept so that a long one need not be folded from its first
 * rune. It is only a cache: if it cannot be read or does not fit the log, the runes
 * are folded.
 */
export interface FoldCache {
  /** Parts that are given replace those of the same name; `head` is written last. */
  save(session_id: string, parts: ReadonlyMap<string, string>): void
  /** Every part of a session; undefined if there is none, or if it is damaged. */
  load(session_id: string): ReadonlyMap<string, string> | undefined
  /** What was redacted must not live on here. */
  forget(session_id: string): void
  close(): void
}

/** For stores whose sessions end with the process. */
export const noFoldCache: FoldCache = { save: () => {}, load: () => undefined, forget: () => {}, close: () => {} }
