import type { JsonObject } from '../../src/kernel/json.ts'
import type { Page } from '../../src/wire/common.ts'
import type { InboxItem, InteractionCard } from '../../src/wire/interaction.ts'
import { type Answer, get, post } from './request.ts'

const at = (id: string, verb = '') => `/api/interactions/${encodeURIComponent(id)}${verb === '' ? '' : `/${verb}`}`

export const listInbox = (signal?: AbortSignal) => get<Page<InboxItem>>('/api/inbox', { limit: 200 }, signal)

export const getInteraction = (id: string, signal?: AbortSignal) => get<InteractionCard>(at(id), {}, signal)

export const approve = (id: string, digest: string | null): Promise<Answer<unknown>> =>
  post(at(id, 'approve'), digest === null ? {} : { digest })

export const deny = (id: string, reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'deny'), reason === '' ? {} : { reason })

export const answer = (id: string, reply: JsonObject): Promise<Answer<unknown>> => post(at(id, 'answer'), { reply })

export const settle = (id: string, outcome: 'happened' | 'did_not', reason: string): Promise<Answer<unknown>> =>
  post(at(id, 'settle'), { outcome, ...(reason !== '' && { reason }) })
