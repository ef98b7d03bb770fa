import type { OneSnapshot, Transitions } from '../../src/wire/contract.ts'
import type { ConsequenceView } from '../../src/wire/dialogue.ts'
import { get } from './request.ts'

const at = (id: string, what: string) => `/api/execution/${encodeURIComponent(id)}/${what}`

/** Reads where a contract stands. */
export const getSnapshot = (id: string, signal?: AbortSignal) => get<OneSnapshot>(at(id, 'snapshot'), {}, signal)

/** Reads what a contract changed. */
export const getConsequence = (id: string, signal?: AbortSignal) =>
  get<ConsequenceView>(at(id, 'consequence'), {}, signal)

/** Reads the moves of a contract. */
export const getTransitions = (id: string, signal?: AbortSignal) => get<Transitions>(at(id, 'transitions'), {}, signal)
