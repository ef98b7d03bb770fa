import * as z from 'zod'
import type { Json } from '../kernel/json.ts'
import { stateNames } from '../kernel/machine.ts'
import { contractMachine } from '../machines/contract.ts'
import { goalStopNames } from '../machines/goal.ts'

/**
 * Any JSON value. The schema accepts it unchecked: every payload passes through canonical JSON before it is stored,
 * which refuses other values and names the place.
 */
export const jsonValue = z.custom<Json>((value) => value !== undefined)

/** The schema of a JSON object. */
export const jsonObject = z.record(z.string(), jsonValue)

/** The schema of a budget; a missing field means no limit. */
export const budget = z.strictObject({
  tokens: z.int().nonnegative().optional(),
  tool_calls: z.int().nonnegative().optional(),
  wall_time_ms: z.int().nonnegative().optional(),
  cost_usd: z.number().nonnegative().optional(),
})

const budgetSpent = z.strictObject({
  limit: z.enum(['tokens', 'tool_calls', 'cost_usd', 'wall_time_ms']),
  used: z.number(),
  allowed: z.number(),
  needed: z.int().nonnegative().exactOptional(),
})

const usage = z.strictObject({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  /** The cost, if the agent has a price. */
  cost_usd: z.number().nonnegative().optional(),
})

const cause = z.strictObject({ message: z.string(), code: z.string().exactOptional() })

const evidence = z.strictObject({
  source: z.enum(['tool', 'timeout', 'cancel', 'probe', 'worker', 'definition']),
  message: z.string(),
  /** The code that the error carried, such as `ECONNRESET`. */
  code: z.string().exactOptional(),
  /** The causes of the error, nearest first. */
  causes: z.array(cause).exactOptional(),
  /** The response of the other side, as far as the error carried it. */
  response: z.strictObject({ status: z.int().exactOptional(), body: z.string().exactOptional() }).exactOptional(),
  /** The report of a tool that returned after it was given up. `failed` leaves open whether it happened. */
  reported: z.enum(['done', 'failed', 'did_not_happen']).exactOptional(),
  /** The output of a tool that reported `done`. Of a long output it is the beginning, and the whole is kept. */
  result: jsonValue.exactOptional(),
  output_ref: z.string().exactOptional(),
})

/** The evidence of an outcome. */
export type Evidence = z.infer<typeof evidence>

/** The kinds of questions. */
export const interactionKind = z.enum(['approval', 'ecs', 'question', 'question_pack', 'settlement', 'notice'])

/** The kind of a question. */
export type InteractionKind = z.infer<typeof interactionKind>

/** Why a contract waits. */
export const waitingReasons = ['approval', 'ecs', 'outcome_unknown'] as const

/** Why a contract waits. */
export type WaitingReason = (typeof waitingReasons)[number]

/** The deciders of a contract. */
export const deciders = ['human', 'timer', 'policy'] as const

/** One of the deciders. */
export type Decider = (typeof deciders)[number]

/** Whether a run may ask people. */
export const runModes = ['interactive', 'auto'] as const

/** One of the modes of a run. */
export type RunMode = (typeof runModes)[number]

/** The actions of a call: a tool at work, or a question to a person. */
const actionTypes = ['tool_call', 'ecs_request'] as const

/** Where an idempotency key counts. */
export const keyScopes = ['session', 'global'] as const

/** One of the scopes of a key. */
export type KeyScope = (typeof keyScopes)[number]

/** The deciders of a condition between tasks. */
export const conditionDeciders = ['rule', 'critic', 'human', 'policy'] as const

/** Every kind of rune that may be recorded, with the shape of its payload. */
export const kinds = {
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
  /** The log ends here: a segment whose bytes have this digest has the `runes` earlier ones. */
  'session.archived': z.strictObject({ segment: z.string(), runes: z.int(), sha256: z.string() }),
  /** The payload of an earlier rune was erased. Its header and the chain are untouched; this digest covers the remains. */
  'rune.redacted': z.strictObject({
    event_id: z.int(),
    reason: z.string(),
    remains_sha256: z.string(),
    /** Outputs that were erased with the payload. */
    blobs: z.array(z.string()).readonly(),
    /** The principal that asked for it, and the signature of the store's key. Null in logs of 0.1. */
    redacted_by: z.string().nullable(),
    public_key: z.string().nullable(),
    signature: z.string().nullable(),
  }),

  'agent.spawning': z.strictObject({
    agent_id: z.string(),
    /** The name of the agent in the configuration. */
    agent: z.string(),
    role: z.string(),
    model: z.string(),
    parent_id: z.string().nullable(),
    tools: z.array(z.string()),
    budget: budget.nullable(),
  }),
  'agent.ready': z.strictObject({ agent_id: z.string() }),
  'agent.failed': z.strictObject({ agent_id: z.string(), error: z.string() }),
  'agent.terminated': z.strictObject({ agent_id: z.string(), reason: z.string(), stats: jsonObject }),

  'run.submitted': z.strictObject({
    agent: z.string(),
    input: jsonValue,
    mode: z.enum(runModes),
    interactive_require_user_reply: z.boolean(),
    budget: budget.nullable(),
    parent_call_id: z.string().nullable(),
    /** The run that made that call, on whose budget this one draws. Older records leave it out. */
    parent_run_id: z.string().optional(),
    /** A judged plan binds the run: it may use these tools, each with arguments that fit, and nothing else. */
    allowed_tools: z.array(z.strictObject({ name: z.string(), args_schema: jsonObject.optional() })).optional(),
  }),
  /** Additional input with its own visibility, such as the internal findings of a critic. */
  'run.briefed': z.strictObject({ text: z.string() }),
  /** `epoch` fences the run: only appends that carry it commit. It rises when a worker takes the run or loses it. */
  'run.moved': z.strictObject({
    epoch: z.int().positive().optional(),
    worker: z.string().optional(),
    attempt: z.int().positive().optional(),
    interaction_ids: z.array(z.string()).optional(),
    result: jsonValue.optional(),
    error_code: z.string().optional(),
    /** The owner of the budget that ended the run, if one did. */
    budget_of: z.string().optional(),
    /** Its limit that was reached. Older records have only the message. */
    budget_spent: budgetSpent.exactOptional(),
    message: z.string().optional(),
  }),
  /** A command for a run that a worker holds: recorded here, obeyed by the holder or the next one. */
  'run.requested': z.strictObject({
    request: z.enum(['cancel', 'interrupt', 'steer']),
    reason: z.string(),
    input: jsonValue.optional(),
  }),
  /** A reply found another number of waiting contracts than expected. */
  'run.misaligned': z.strictObject({ expected: z.array(z.string()), found: z.array(z.string()) }),

  'turn.started': z.strictObject({ turn_id: z.string(), agent_id: z.string(), input: jsonValue }),
  /** Deltas are coalesced; `offset` is where this fragment begins in the text of its round. */
  'turn.assistant_delta': z.strictObject({
    content: z.string(),
    channel: z.enum(['text', 'reasoning']),
    round: z.int(),
    offset: z.int(),
  }),
  /** The mood of the user, as the model sees it. It moves nothing. */
  'turn.emotion_detected': z.strictObject({
    primary: z.string(),
    category: z.string(),
    confidence: z.number().min(0).max(1),
  }),
  /**
   * `text` is the whole text of the model in this round, so that readers need not gather deltas. The model wants
   * `provider_state` back with this answer, such as signatures of its reasoning; only `provider_model` gets it back.
   */
  'turn.tool_calls_received': z.strictObject({
    call_ids: z.array(z.string()),
    round: z.int(),
    text: z.string(),
    usage,
    provider_state: jsonValue.optional(),
    provider_model: z.string().optional(),
  }),
  /** `summary` lists the calls, each with the beginning of its result or of its error. */
  'turn.tools_finished': z.strictObject({
    results: z.array(
      z.strictObject({
        call_id: z.string(),
        label: z.string(),
        summary: z.string(),
        result_summary: z.string().nullable(),
        error_summary: z.string().nullable(),
      }),
    ),
  }),
  'turn.completed': z.strictObject({
    final_output: z.string(),
    usage,
    round: z.int(),
    finish: z.enum(['stop', 'truncated', 'filtered', 'round_limit', 'repeated_calls', 'no_more_calls']),
  }),
  /** `usage` counts for the budgets, although the answer was cut. */
  'turn.interrupted': z.strictObject({ reason: z.string(), partial_output: z.string(), usage: usage.optional() }),
  /** `retryable`: a new turn tries again, after `retry_in_ms`. */
  'turn.error': z.strictObject({
    error_type: z.string(),
    message: z.string(),
    retryable: z.boolean(),
    retry_in_ms: z.int().nonnegative().optional(),
    partial_output: z.string().optional(),
    usage: usage.optional(),
  }),

  'tool.call': z.strictObject({
    call_id: z.string(),
    tool_name: z.string(),
    arguments: jsonValue,
    /** Digest of the tool's definition when the model called it; null for an unknown tool. */
    definition_sha256: z.string().nullable(),
  }),
  'tool.moved': z.strictObject({}),
  'tool.approval_requested': z.strictObject({
    call_id: z.string(),
    policy_reason: z.string(),
    /** The digest that an approval is bound to: tool, definition, canonical arguments, policy. */
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
    action_type: z.enum(actionTypes),
    action_detail: jsonObject,
    action_summary: z.string(),
    irreversible: z.boolean(),
    idempotency_key: z.string().nullable(),
    key_scope: z.enum(keyScopes),
    timeout_ms: z.int().nullable(),
    /** The flags of the tool when it was called. A later definition does not apply to this call. */
    read_only: z.boolean().exactOptional(),
    idempotent: z.boolean().exactOptional(),
    definition_sha256: z.string().nullable().exactOptional(),
    ends_turn: z.boolean().exactOptional(),
  }),
  /**
   * Evidence of an unknown outcome: the error of the tool with the other side's response, a timeout, a lost worker, the
   * answer of a probe, or a late report of the tool. The person who settles the outcome sees all of it.
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
    /** The author of the decision: a person, a deadline with its default, or policy without a question. */
    decided_by: z.enum(deciders).optional(),
  }),

  'interaction.opened': z.strictObject({
    interaction_kind: interactionKind,
    prompt: z.string(),
    /** The form of the answer: form fields, options, or the questions of a pack. */
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
    action_type: z.enum(actionTypes),
    action_summary: z.string(),
    final_status: z.enum(stateNames(contractMachine)),
    irreversible: z.boolean(),
    duration_ms: z.int().nonnegative(),
    result_summary: z.string().nullable(),
    error_summary: z.string().nullable(),
    /** As in the last move of the contract that has it. Absent if no decision was needed. */
    decided_by: z.enum(deciders).exactOptional(),
  }),

  'coordination.received': z.strictObject({
    intent_id: z.string(),
    /** The hash of all input: the same input has the same run id everywhere. */
    run_id: z.string().optional(),
    input_sha256: z.string(),
    input: jsonObject,
    /** How long each pack of questions stays open. Without it, without limit. */
    answer_timeout_ms: z.int().positive().optional(),
  }),
  'coordination.moved': z.strictObject({
    guards: z.array(z.strictObject({ guard_name: z.string(), passed: z.boolean(), reason: z.string() })),
    outputs: z.array(z.strictObject({ artifact_type: z.string(), artifact_id: z.string(), checksum: z.string() })),
    duration_ms: z.int().nonnegative(),
    failure: jsonObject.optional(),
  }),
  /** The files of an ended coordination, each with the reference under which its text is kept. */
  'coordination.frozen': z.strictObject({ files: z.array(z.strictObject({ name: z.string(), ref: z.string() })) }),
  'coordination.alerted': z.strictObject({ failure: jsonObject }),

  'plan.goal_received': z.strictObject({ goal_description: z.string(), config: jsonObject }),
  'goal.moved': z.strictObject({ reason: z.string().optional() }),
  'plan.created': z.strictObject({ plan_id: z.string(), tasks: z.array(jsonObject) }),
  'plan.updated': z.strictObject({ plan_id: z.string(), changes: jsonValue }),
  'plan.critique': z.strictObject({ plan_id: z.string(), findings: z.array(jsonObject) }),
  'plan.goal_met': z.strictObject({ plan_id: z.string(), summary: z.string() }),
  /** The cause is null in a record of version 1, which had none. */
  'plan.stopped': z.strictObject({ reason: z.string(), cause: z.enum(goalStopNames).nullable() }),

  'task.opened': z.strictObject({ plan_id: z.string(), task: jsonObject }),
  'task.condition_decided': z.strictObject({
    condition: z.string(),
    /** Null: it could not be decided, and the task is not done. */
    holds: z.boolean().nullable(),
    decided_by: z.enum(conditionDeciders),
    /** The rule engine, the run of the critic, or the person. */
    decider: z.string(),
    reason: z.string(),
  }),
  'task.moved': z.strictObject({ reason: z.string().optional() }),
  'plan.task_assigned': z.strictObject({ task_id: z.string(), agent_id: z.string() }),
  'plan.task_started': z.strictObject({ task_id: z.string() }),
  'plan.task_completed': z.strictObject({ task_id: z.string(), result: jsonValue, evidence: z.array(jsonValue) }),
}

/** The kind of a rune. */
export type Kind = keyof typeof kinds
/** The payload of a kind. */
export type Payload<K extends Kind> = z.infer<(typeof kinds)[K]>

/** Whether a string names a kind of rune. */
export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind)
}

/** The problem of a payload with the shape of its kind; undefined if it fits. */
export function payloadProblem(kind: Kind, payload: unknown): string | undefined {
  const checked = (kinds[kind] as z.ZodType).safeParse(payload)
  if (checked.success) return undefined
  return checked.error.issues.map((issue) => `payload ${issue.path.join('.')}: ${issue.message}`).join('; ')
}
