import type { z } from 'zod'
import type { Json } from '../kernel/json.ts'
import { isKind, type Kind, kinds, payloadProblem } from './kinds.ts'
import { parseObject } from './redaction.ts'
import { schemaVersion } from './rune.ts'

/** Whether a payload is no more than a redaction leaves: markers, and the fields that a fold needs. */
export function isErased(kind: string, schema_version: number, payload: string): boolean {
  const value = parseObject(payload)
  if (value === undefined || !isKind(kind)) return false
  // The remains of an earlier shape cannot be checked here; the signature of the redaction covers them.
  if (schema_version !== schemaVersion(kind)) return true
  try {
    if (payloadProblem(kind, value) !== undefined) return false
    const least = erasedPayload(kind, value)
    return Object.keys(value).every((name) => JSON.stringify(least[name]) === JSON.stringify(value[name]))
  } catch (error) {
    // It is nested deeper than the stack of its readers. Nothing that the product writes is.
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Replaces erased content in a payload. */
export const erased = '[redacted]'

/**
 * Fields that stay when the rest is erased, because a fold needs them. Without its key, an erased contract would permit
 * the action again. Without its ids, an erased turn would have no subject; without its budget, an erased run no limit.
 */
const kept: ReadonlySet<string> = new Set([
  ...['agent', 'budget', 'decided_by', 'definition_sha256', 'digest'],
  ...['holds', 'idempotency_key', 'salted_key', 'tool_name'],
])

/** The same within a `config`, where sessions and goals have their limits next to texts of people. */
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
      // It has no content, and a fold may depend on it: a turn without an input uses up no steer.
      if (isKept(name) || value === null) return [name, value]
      if (name === 'config') return [name, limitsIn(value as Readonly<Record<string, Json>>)]
      const least = [erased, null, [], {}].find((candidate) => shape[name]?.safeParse(candidate).success)
      return [name, least === undefined ? value : least]
    }),
  )
}

function limitsIn(config: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(config).filter(([name]) => keptOfConfig.has(name)))
}
