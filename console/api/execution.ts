import type { ConsequenceView, OneSnapshot, Transitions } from '../../src/wire/contract.ts'
import { get } from './request.ts'

const at = (id: string, what: string) => `/api/execution/${encodeURIComponent(id)}/${what}`

export const getSnapshot = (id: string, signal?: AbortSignal) => get<OneSnapshot>(at(id, 'snapshot'), {}, signal)

export const getConsequence = (id: string, signal?: AbortSignal) =>
  get<ConsequenceView>(at(id, 'consequence'), {}, signal)

export const getTransitions = (id: string, signal?: AbortSignal) => get<Transitions>(at(id, 'transitions'), {}, signal)
