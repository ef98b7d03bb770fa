import type { JsonObject } from '../../src/kernel/json.ts'
import type { Page } from '../../src/wire/common.ts'
import type { InboxItem, InteractionCard } from '../../src/wire/interaction.ts'
import { type Answer, get, post } from './request.ts'

const at = (id: string, verb = '') => `/api/interactions/${encodeURIComponent(id)}${verb === '' ? '' : `/${verb}`}`

/** Lists what waits for a person. */
export const listInbox = (signal?: AbortSignal) => get<Page<InboxItem>>('/api/inbox', { limit: 200 }, signal)

/** Reads one interaction. */
export const getInteraction = (id: string, signal?: AbortSignal) => get<InteractionCard>(at(id), {}, signal)

/** Approves the action with this digest. */
export const approve = (id: string, digest: string | null): Promise<Answer<unknown>> =>
  post(at(id, 'approve'), digest === null ? {} : { digest })

/** Denies an action. */
export const deny = (id: string, reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'deny'), reason === '' ? {} : { reason })

/** Answers a form or a question. */
export const answer = (id: string, reply: JsonObject): Promise<Answer<unknown>> => post(at(id, 'answer'), { reply })

/** Settles an unknown outcome. */
export const settle = (id: string, outcome: 'happened' | 'did_not', reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'settle'), { outcome, ...(reason !== '' && { reason }) })
