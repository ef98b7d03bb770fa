import type { Rune } from '../../src/runes/rune.ts'
import type { Redacted } from '../../src/runes/verify.ts'
import { type Answer, get, post } from './request.ts'
import type { Json, Page, SpineEntry } from './types.ts'

export interface Waiting {
  readonly interaction_id: string
  readonly interaction_kind: string
  readonly prompt: string
  readonly deadline: number | null
  readonly since: number
}

export interface Budget {
  readonly tokens?: number
  readonly tool_calls?: number
  readonly wall_time_ms?: number
}

/** One row of the list of sessions, as the server keeps it. */
export interface SessionSummary {
  readonly session_id: string
  readonly title: string | null
  readonly agent: string | null
  readonly state: string
  readonly since: number
  readonly updated_at: number
  readonly updated_event_id: number
  /** Of the most urgent run that is open, or of the last one. */
  readonly status: string | null
  readonly run_id: string | null
  readonly status_since: number | null
  readonly open_runs: number
  readonly waiting_for: Waiting | null
  readonly waiting: number
  readonly used: { readonly tokens: number; readonly tool_calls: number }
  readonly budget: Budget | null
  readonly last_error: { readonly code: string; readonly message: string; readonly at: number } | null
  readonly current_line: string
}

export interface SessionView extends SessionSummary {
  readonly event_id: number
  readonly is_sealed: boolean
  readonly spine: readonly SpineEntry[]
  readonly waiting_on: readonly Waiting[]
  readonly runs: readonly { readonly run_id: string; readonly agent: string; readonly status: string }[]
  readonly agents: readonly { readonly agent_id: string; readonly agent: string; readonly role: string }[]
  readonly costs: { readonly tokens: number; readonly tool_calls: number; readonly wall_time_ms: number }
}

export interface SessionFilter {
  readonly state?: string | null
  readonly status?: string | null
  readonly agent?: string | null
  readonly q?: string | null
}

const at = (session_id: string, what = '') =>
  `/api/sessions/${encodeURIComponent(session_id)}${what === '' ? '' : `/${what}`}`

export const listSessions = (filter: SessionFilter, cursor: string | null, signal?: AbortSignal, limit = 100) =>
  get<Page<SessionSummary>>('/api/sessions', { ...filter, limit, cursor }, signal)

export const getSession = (session_id: string, signal?: AbortSignal) => get<SessionView>(at(session_id), {}, signal)

export interface RunesAsked {
  readonly after?: number
  readonly before?: number
  readonly limit: number
  readonly backward?: boolean
}

export interface Runes {
  readonly items: readonly Rune[]
  /** Where the next page begins; null when there are no more. */
  readonly next: number | null
  readonly event_id: number
}

export const listRunes = (session_id: string, asked: RunesAsked, signal?: AbortSignal) =>
  get<Runes>(at(session_id, 'runes'), { ...asked }, signal)

export interface Audit {
  readonly session_id: string
  readonly is_sound: boolean
  readonly events: number
  readonly head: string
  readonly first_bad: { readonly event_id: number; readonly problem: string } | null
  readonly redactions: readonly Redacted[]
}

export interface Signed extends Audit {
  readonly checkpoint: { readonly event_id: number; readonly at: number; readonly public_key: string } | null
}

export const auditSession = (session_id: string) => get<Audit>(at(session_id, 'audit'))

/** Needs the scope `admin`. */
export const signSession = (session_id: string) => post<Signed>(at(session_id, 'checkpoint'))

export const sendMessage = (session_id: string, input: Json) =>
  post<{ run_id: string }>(at(session_id, 'messages'), { input })

export type SessionVerb = 'pause' | 'resume' | 'close' | 'archive'

export const actOnSession = (session_id: string, verb: SessionVerb): Promise<Answer<unknown>> =>
  post(at(session_id, verb))

export const bundleAddress = (session_id: string) => at(session_id, 'bundle')
