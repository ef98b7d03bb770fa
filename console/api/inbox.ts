import { type Answer, get, post } from './request.ts'
import type { Json, JsonObject, Page } from './types.ts'

export interface InboxItem {
  readonly interaction_id: string
  readonly session_id: string
  readonly title: string | null
  readonly run_id: string | null
  readonly call_id: string | null
  readonly interaction_kind: string
  readonly prompt: string
  readonly deadline: number | null
  readonly opened_at: number
}

/** Everything a person has to see before they answer, and what became of it. */
export interface Interaction {
  readonly interaction_id: string
  readonly session_id: string
  readonly run_id: string | null
  readonly agent: string | null
  readonly execution_id: string | null
  readonly coordination_id?: string | null
  readonly interaction_kind: string
  readonly state: string
  readonly prompt: string
  readonly action_summary: string | null
  readonly tool: string | null
  readonly arguments: Json
  readonly canonical_arguments: string | null
  readonly irreversible: boolean | null
  readonly digest: string | null
  readonly definition_sha256: string | null
  readonly request: JsonObject
  readonly evidence: readonly Json[]
  readonly opened_at: number
  readonly deadline: number | null
  readonly on_silence: 'wait' | 'cancel' | 'auto_decide' | 'use_default'
  readonly silence: string
  readonly closed_at: number | null
  readonly closed_by: string | null
  readonly reply: Json
}

const at = (id: string, verb = '') => `/api/interactions/${encodeURIComponent(id)}${verb === '' ? '' : `/${verb}`}`

export const listInbox = (signal?: AbortSignal) => get<Page<InboxItem>>('/api/inbox', { limit: 200 }, signal)

export const getInteraction = (id: string, signal?: AbortSignal) => get<Interaction>(at(id), {}, signal)

export const approve = (id: string, digest: string | null): Promise<Answer<unknown>> =>
  post(at(id, 'approve'), digest === null ? {} : { digest })

export const deny = (id: string, reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'deny'), reason === '' ? {} : { reason })

export const answer = (id: string, reply: JsonObject): Promise<Answer<unknown>> => post(at(id, 'answer'), { reply })

export const settle = (id: string, outcome: 'happened' | 'did_not', reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'settle'), { outcome, ...(reason !== '' && { reason }) })
