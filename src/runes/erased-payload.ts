import type { z } from 'zod'
import type { Json } from '../kernel/json.ts'
import { type Kind, kinds } from './kinds.ts'

export const erased = '[redacted]'

/**
 * Fields that stay when the rest is erased, because a fold needs them: without
 * its key, an erased contract would let the same action happen twice; without
 * its ids, an erased turn would lead nowhere.
 */
const kept: ReadonlySet<string> = new Set([
  'agent',
  'definition_sha256',
  'digest',
  'idempotency_key',
  'salted_key',
  'tool_name',
])

const isKept = (name: string) => kept.has(name) || name.endsWith('_id') || name.endsWith('_ids')

/** The least that the schema of a kind allows: each field emptied as far as it can be, else left as it was. */
export function erasedPayload(kind: Kind, payload: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
  const shape = kinds[kind].shape as Readonly<Record<string, z.ZodType>>
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => {
      if (isKept(name)) return [name, value]
      const least = [erased, null, [], {}].find((candidate) => shape[name]?.safeParse(candidate).success)
      return [name, least === undefined ? value : least]
    }),
  )
}
