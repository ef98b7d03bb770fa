import type { SessionState } from '../../machines/session.ts'
import { type SessionRow, sessions } from '../../runelog/models.ts'
import type { Runelog } from '../../runelog/port.ts'

export interface SessionQuery {
  readonly state?: SessionState
  readonly limit?: number
  /** The newest first. */
  readonly backward?: boolean
  /** Continues after this one. */
  readonly after?: Pick<ListedSession, 'session_id' | 'updated_at'>
}

/** What is kept of a session for listing, whatever became of its log. */
export type ListedSession = SessionRow & { readonly session_id: string }

export async function listSessions(
  runelog: Runelog,
  { state, after, ...page }: SessionQuery,
): Promise<readonly ListedSession[]> {
  const rows = await runelog.rows(sessions, {
    ...page,
    ...(state !== undefined && { tag: state }),
    ...(after !== undefined && { after: { sort: after.updated_at, key: after.session_id } }),
  })
  return rows.map(({ key, value }) => ({ session_id: key, ...value }))
}
