import { z } from 'zod'
import { jsonObject, jsonValue } from '../json-value.ts'

const cause = z.strictObject({ message: z.string(), code: z.string().exactOptional() })

const evidence = z.strictObject({
  source: z.enum(['tool', 'timeout', 'cancel', 'probe', 'worker', 'definition']),
  message: z.string(),
  /** The code that the error carried, such as `ECONNRESET`. */
  code: z.string().exactOptional(),
  /** What caused the error, nearest first. */
  causes: z.array(cause).exactOptional(),
  /** What the other side answered, as far as the error carried it. */
  response: z.strictObject({ status: z.int().exactOptional(), body: z.string().exactOptional() }).exactOptional(),
  /** The tool came back after it was given up, and this is what it says. `failed` does not tell whether it happened. */
  reported: z.enum(['done', 'failed', 'did_not_happen']).exactOptional(),
  /** What a tool that was done returned. If it was long, this is its beginning, and the whole is kept. */
  result: jsonValue.exactOptional(),
  output_ref: z.string().exactOptional(),
})

/** What proves an outcome. */
export type Evidence = z.infer<typeof evidence>

/** Why a contract waits. */
export const waitingReasons = ['approval', 'ecs', 'outcome_unknown'] as const

/** Why a contract waits. */
export type WaitingReason = (typeof waitingReasons)[number]

/** Who decided about a contract. */
export const deciders = ['human', 'timer', 'policy'] as const

/** One of the deciders. */
export type Decider = (typeof deciders)[number]

/** The runes about execution contracts. */
export const contractKinds = {
  'contract.opened': z.strictObject({
    action_type: z.enum(['tool_call', 'ecs_request']),
    action_detail: jsonObject,
    action_summary: z.string(),
    irreversible: z.boolean(),
    idempotency_key: z.string().nullable(),
    key_scope: z.enum(['session', 'global']),
    timeout_ms: z.int().nullable(),
    /** What the tool's definition said when it was called. A later definition decides nothing about this call. */
    read_only: z.boolean().exactOptional(),
    idempotent: z.boolean().exactOptional(),
    definition_sha256: z.string().nullable().exactOptional(),
    ends_turn: z.boolean().exactOptional(),
  }),
  /**
   * Why the outcome of an action is unknown: what the tool threw and what the other side answered, a timeout, a lost
   * worker, what a probe said, what the tool reported after it was given up. The person who settles the outcome sees
   * all of it.
   */
  'contract.evidence_added': evidence,
  /** A person wants an irreversible action done once more. The next call for it gets the salted key, once. */
  'contract.repeat_allowed': z.strictObject({
    idempotency_key: z.string(),
    salted_key: z.string(),
    allowed_by: z.string(),
  }),
  /** `reason` says why a contract waits: for approval, for a person's step, or because its outcome is unknown. */
  'contract.moved': z.strictObject({
    result: jsonValue.optional(),
    error_message: z.string().optional(),
    error_kind: z.string().optional(),
    reason: z.enum(waitingReasons).optional(),
    /** The question that it waits for, or that it waited for until this move. */
    interaction_id: z.string().optional(),
    /** Who decided how it goes on: a person, a deadline with its default, or policy without asking anyone. */
    decided_by: z.enum(deciders).optional(),
  }),
}
