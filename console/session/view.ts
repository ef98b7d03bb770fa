import type { SessionLog } from './log.ts'

/** What every view of a session gets: they share one cursor, so that what is chosen in one is chosen in all. */
export interface View {
  readonly log: SessionLog
  /** The chosen event; 0 when none is. */
  readonly at: number
  readonly select: (event_id: number) => void
  readonly isFollowing: boolean
  readonly setFollowing: (is: boolean) => void
}
