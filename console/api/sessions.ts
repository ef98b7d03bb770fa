import type { Json } from '../../src/kernel/json.ts'
import type { Audit, Signed } from '../../src/wire/audit.ts'
import type { Page } from '../../src/wire/common.ts'
import type { RunesPage } from '../../src/wire/rune.ts'
import type { SessionCard, SummaryCard } from '../../src/wire/session.ts'
import { type Answer, get, post } from './request.ts'

export interface SessionFilter {
  readonly state?: string | null
  readonly status?: string | null
  readonly agent?: string | null
  readonly q?: string | null
}

const at = (session_id: string, what = '') =>
  `/api/sessions/${encodeURIComponent(session_id)}${what === '' ? '' : `/${what}`}`

export const listSessions = (filter: SessionFilter, cursor: string | null, signal?: AbortSignal, limit = 100) =>
  get<Page<SummaryCard>>('/api/sessions', { ...filter, limit, cursor }, signal)

export const getSession = (session_id: string, signal?: AbortSignal) => get<SessionCard>(at(session_id), {}, signal)

interface RunesAsked {
  readonly after?: number
  readonly before?: number
  readonly limit: number
  readonly backward?: boolean
}

export const listRunes = (session_id: string, asked: RunesAsked, signal?: AbortSignal) =>
  get<RunesPage>(at(session_id, 'runes'), { ...asked }, signal)

export const auditSession = (session_id: string) => get<Audit>(at(session_id, 'audit'))

/** Needs the scope `admin`. */
export const signSession = (session_id: string) => post<Signed>(at(session_id, 'checkpoint'))

export const sendMessage = (session_id: string, input: Json) =>
  post<{ run_id: string }>(at(session_id, 'messages'), { input })

type SessionVerb = 'pause' | 'resume' | 'close' | 'archive'

export const actOnSession = (session_id: string, verb: SessionVerb): Promise<Answer<unknown>> =>
  post(at(session_id, verb))

export const bundleAddress = (session_id: string) => at(session_id, 'bundle')
