import type { Look } from '../../runelog/judge.ts'
import { subjects } from '../../runelog/models/subjects.ts'
import type { Head } from '../../runelog/port.ts'
import type { Reader } from './reader.ts'

/** Where a session is in the tables, and where its log ends. */
export interface Place {
  readonly session: number
  readonly head: Head
}

export function placeIn(reader: Reader, look: Look, session_id: string): Place | undefined {
  const session = reader.key(session_id)
  const last = session === undefined ? undefined : reader.lastRune(session)
  if (session === undefined || last === undefined) return undefined
  const state = look(subjects, session_id)?.value.state
  const archived = state === 'archived'
  return { session, head: { session_id, ...last, sealed: archived || state === 'closed', archived } }
}
