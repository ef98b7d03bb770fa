import type { z } from 'zod'
import type { Json } from '../kernel/json.ts'
import { type Kind, kinds } from './kinds.ts'

/** Stands in a payload where content was erased. */
export const erased = '[redacted]'

/**
 * Fields that stay when the rest is erased, because a fold needs them: without its key, an erased contract would let
 * the same action happen twice; without its ids, an erased turn would lead nowhere; without its budget, an erased run
 * would spend what it likes.
 */
const kept: ReadonlySet<string> = new Set([
  ...['agent', 'budget', 'decided_by', 'definition_sha256', 'digest'],
  ...['holds', 'idempotency_key', 'salted_key', 'tool_name'],
])

/** The same within a `config`, where sessions and goals have their limits beside what people wrote. */
const keptOfConfig: ReadonlySet<string> = new Set([
  ...['auto', 'budget', 'critic', 'max_blocked_ms', 'max_drafts', 'max_parallel'],
  ...['mode', 'per_agent', 'planner', 'policy', 'question_budget', 'task_budget'],
])

const isKept = (name: string) => kept.has(name) || name.endsWith('_id') || name.endsWith('_ids')

/** The least that the schema of a kind allows: each field emptied as far as it can be, else left as it was. */
export function erasedPayload(kind: Kind, payload: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
  const shape = kinds[kind].shape as Readonly<Record<string, z.ZodType>>
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => {
      // There is nothing in it, and a fold may go by that: a turn without an input uses up no steer.
      if (isKept(name) || value === null) return [name, value]
      if (name === 'config') return [name, limitsIn(value as Readonly<Record<string, Json>>)]
      const least = [erased, null, [], {}].find((candidate) => shape[name]?.safeParse(candidate).success)
      return [name, least === undefined ? value : least]
    }),
  )
}

/** Whether a text is a reference to a whole output or file. */
export const isBlobRef = (text: unknown) => typeof text === 'string' && /^blob_[0-9a-f]{64}$/.test(text)

/** References to whole outputs and files that a payload holds, as values of their own; a mention in a text is none. */
export function blobsIn(payload: Json): readonly string[] {
  if (typeof payload === 'string') return isBlobRef(payload) ? [payload] : []
  if (payload === null || typeof payload !== 'object') return []
  return [...new Set(Object.values(payload).flatMap(blobsIn))]
}

function limitsIn(config: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(config).filter(([name]) => keptOfConfig.has(name)))
}
