import { z } from 'zod'
import { stateNames } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
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

/** The kinds of questions. */
export const interactionKind = z.enum(['approval', 'ecs', 'question', 'question_pack', 'settlement', 'notice'])

/** What a question to a person is about. */
export type InteractionKind = z.infer<typeof interactionKind>

/** Why a contract waits. */
export const waitingReasons = ['approval', 'ecs', 'outcome_unknown'] as const

/** Why a contract waits. */
export type WaitingReason = (typeof waitingReasons)[number]

/** Who decided about a contract. */
export const deciders = ['human', 'timer', 'policy'] as const

/** One of the deciders. */
export type Decider = (typeof deciders)[number]

/** The runes about calls, and what belongs to a call: its contract, its questions, the fact that it leaves. */
export const callKinds = {
  'tool.call': z.strictObject({
    call_id: z.string(),
    tool_name: z.string(),
    arguments: jsonValue,
    /** Digest of the tool's definition when the model called it; null for an unknown tool. */
    definition_sha256: z.string().nullable(),
  }),
  'tool.moved': z.strictObject({ call_id: z.string() }),
  'tool.approval_requested': z.strictObject({
    call_id: z.string(),
    policy_reason: z.string(),
    /** What an approval will be bound to: tool, definition, canonical arguments, policy. */
    digest: z.string(),
  }),
  'tool.approved': z.strictObject({ call_id: z.string(), approver: z.string(), digest: z.string().nullable() }),
  'tool.denied': z.strictObject({ call_id: z.string(), reason: z.string() }),
  'tool.progress': z.strictObject({
    call_id: z.string(),
    stream: z.enum(['stdout', 'stderr', 'message']),
    chunk: z.string(),
  }),
  'tool.result': z.strictObject({
    call_id: z.string(),
    status: z.enum(['success', 'error', 'timeout', 'cancelled', 'denied', 'unknown', 'sandbox_violation']),
    output: jsonValue.optional(),
    error: z.string().optional(),
    duration_ms: z.int().nonnegative().optional(),
    /** The output was longer than the limit; the whole of it is stored under this reference. */
    output_ref: z.string().optional(),
  }),

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

  'interaction.opened': z.strictObject({
    interaction_kind: interactionKind,
    prompt: z.string(),
    /** What the answer must look like: form fields, options, or the questions of a pack. */
    request: jsonObject,
    evidence: z.array(jsonValue),
    deadline: z.int().nullable(),
    on_silence: z.enum(['wait', 'cancel', 'auto_decide', 'use_default']),
    digest: z.string().nullable(),
  }),
  'interaction.answered': z.strictObject({
    reply: jsonValue,
    replied_by: z.string(),
    idempotency_key: z.string().nullable(),
  }),
  'interaction.expired': z.strictObject({ effect: z.enum(['cancel', 'auto_decide', 'use_default']) }),
  'interaction.withdrawn': z.strictObject({ reason: z.string() }),

  'memory.committed': z.strictObject({
    type: z.literal('execution_fact'),
    execution_id: z.string(),
    action_type: z.enum(['tool_call', 'ecs_request']),
    action_summary: z.string(),
    final_status: z.enum(stateNames(contractMachine)),
    irreversible: z.boolean(),
    duration_ms: z.int().nonnegative(),
    result_summary: z.string().nullable(),
    error_summary: z.string().nullable(),
    /** As in the last move of the contract that has it. Absent where nothing had to be decided. */
    decided_by: z.enum(deciders).exactOptional(),
  }),
}
