import type { Json } from '../../src/kernel/json.ts'
import type { Page } from '../../src/wire/common.ts'
import type { Audit, RunesPage, Signed } from '../../src/wire/rune.ts'
import type { SessionCard, SummaryCard } from '../../src/wire/session.ts'
import { type Answer, get, post } from './request.ts'

/** Which sessions to list. */
export interface SessionFilter {
  readonly state?: string | null
  readonly status?: string | null
  readonly agent?: string | null
  readonly q?: string | null
}

const at = (session_id: string, what = '') =>
  `/api/sessions/${encodeURIComponent(session_id)}${what === '' ? '' : `/${what}`}`

/** Reads one page of sessions. */
export const listSessions = (filter: SessionFilter, cursor: string | null, signal?: AbortSignal, limit = 100) =>
  get<Page<SummaryCard>>('/api/sessions', { ...filter, limit, cursor }, signal)

/** Reads a session. */
export const getSession = (session_id: string, signal?: AbortSignal) => get<SessionCard>(at(session_id), {}, signal)

interface RunesAsked {
  readonly after?: number
  readonly before?: number
  readonly limit: number
  readonly backward?: boolean
}

/** Reads one page of runes. */
export const listRunes = (session_id: string, asked: RunesAsked, signal?: AbortSignal) =>
  get<RunesPage>(at(session_id, 'runes'), { ...asked }, signal)

/** Verifies the chain of a session. */
export const auditSession = (session_id: string) => get<Audit>(at(session_id, 'audit'))

/** Needs the scope `admin`. */
export const signSession = (session_id: string) => post<Signed>(at(session_id, 'checkpoint'))

/** Submits the next message of a session. */
export const sendMessage = (session_id: string, input: Json) =>
  post<{ run_id: string }>(at(session_id, 'messages'), { input })

type SessionVerb = 'pause' | 'resume' | 'close' | 'archive'

/** Pauses, resumes, closes or archives a session. */
export const actOnSession = (session_id: string, verb: SessionVerb): Promise<Answer<unknown>> =>
  post(at(session_id, verb))

/** Where the bundle of a session can be downloaded. */
export const bundleAddress = (session_id: string) => at(session_id, 'bundle')
