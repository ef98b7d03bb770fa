import { z } from 'zod'
import { jsonObject } from '../json-value.ts'
import { budget } from './agent.ts'

/** The runes about sessions. */
export const sessionKinds = {
  'session.created': z.strictObject({ conversation_id: z.string(), config: jsonObject }),
  'session.activated': z.strictObject({ root_agent_id: z.string() }),
  'session.paused': z.strictObject({ reason: z.string() }),
  'session.resumed': z.strictObject({ reason: z.string().optional() }),
  'session.suspended': z.strictObject({ reason: z.string(), budget_info: jsonObject.nullable() }),
  /** `budget` holds the new limits, counted from the beginning of the session; one that is not named stays. */
  'session.unsuspended': z.strictObject({
    reason: z.string().optional(),
    budget: budget.optional(),
    /** With the first limit of tool calls: how many were made before. The limit counts on from there. */
    tool_calls_made: z.int().nonnegative().optional(),
  }),
  'session.closing': z.strictObject({ reason: z.string() }),
  'session.closed': z.strictObject({ final_stats: jsonObject }),
  /** The log ends here: `runes` earlier ones stand in a segment whose bytes have this digest. */
  'session.archived': z.strictObject({ segment: z.string(), runes: z.int(), sha256: z.string() }),
  /**
   * The payload of an earlier rune was erased. Its header, and so the chain, is
   * untouched; what is left of the payload is vouched for by this digest instead.
   */
  'rune.redacted': z.strictObject({
    event_id: z.int(),
    reason: z.string(),
    remains_sha256: z.string(),
    /** Outputs that were erased with the payload. */
    blobs: z.array(z.string()).readonly(),
    /** Who asked for it, and the signature of the store's key. Null in logs of 0.1. */
    redacted_by: z.string().nullable(),
    public_key: z.string().nullable(),
    signature: z.string().nullable(),
  }),
}
