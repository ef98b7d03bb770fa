import type { SessionState } from '../../machines/session.ts'
import type { ReadModel } from '../read-model.ts'

export type SessionRow = {
  readonly state: SessionState
  readonly created_at: number
  /** When something in the session last changed its state, to the second. Deltas and progress do not count. */
  readonly updated_at: number
}

/** A session at work moves many times a second; its row need not. */
const precision_ms = 1_000

/** The list of sessions: by state, the one where something last changed its state at the end. */
export const sessions: ReadModel<SessionRow> = {
  name: 'sessions',
  version: 2,
  keys: (rune) => (rune.machine === undefined || rune.from === rune.to ? [] : [rune.session_id]),
  fold(row, rune, key) {
    const before = row?.value
    const state = rune.machine === 'session' ? (rune.to as SessionState) : before?.state
    if (state === undefined) return row
    if (before?.state === state && rune.at - before.updated_at < precision_ms) return row
    const value: SessionRow = { state, created_at: before?.created_at ?? rune.at, updated_at: rune.at }
    return { key, tag: state, sort: rune.at, value }
  },
}
