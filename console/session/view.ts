import type { SessionLog } from './log.ts'

/** The properties of every view of a session. All views share one cursor: a choice in one is a choice in all. */
export interface View {
  readonly log: SessionLog
  /** The chosen event; 0 when none is. */
  readonly at: number
  readonly select: (event_id: number) => void
  readonly isFollowing: boolean
  readonly setFollowing: (is: boolean) => void
}
