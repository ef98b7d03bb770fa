import { z } from 'zod'
import { jsonObject, jsonValue } from '../json-value.ts'

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
  /** What it cost, where the agent has a price. */
  cost_usd: z.number().nonnegative().optional(),
})

/** The runes about sessions, agents, runs and turns. */
export const workKinds = {
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

  'agent.spawning': z.strictObject({
    agent_id: z.string(),
    /** The name under which the agent stands in the configuration. */
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
    mode: z.enum(['interactive', 'auto']),
    interactive_require_user_reply: z.boolean(),
    budget: budget.nullable(),
    parent_call_id: z.string().nullable(),
    /** The run that made that call, on whose budget this one draws. Older records leave it out. */
    parent_run_id: z.string().optional(),
    /** A judged plan binds the run: it may use these tools, each with arguments that fit, and nothing else. */
    allowed_tools: z.array(z.strictObject({ name: z.string(), args_schema: jsonObject.optional() })).optional(),
  }),
  /** What the agent is told beside the input, where that is not for the same eyes, such as what a critic found. */
  'run.briefed': z.strictObject({ text: z.string() }),
  /**
   * `epoch` fences the run: from this rune on, only appends that carry it commit.
   * Taking the run and taking it away both raise it.
   */
  'run.moved': z.strictObject({
    epoch: z.int().positive().optional(),
    worker: z.string().optional(),
    attempt: z.int().positive().optional(),
    interaction_ids: z.array(z.string()).optional(),
    result: jsonValue.optional(),
    error_code: z.string().optional(),
    /** The subject whose budget is used up, where that ended the run. */
    budget_of: z.string().optional(),
    /** Its limit that was reached. Older records have only the message. */
    budget_spent: budgetSpent.exactOptional(),
    message: z.string().optional(),
  }),
  /** A command for a run that a worker holds: recorded here, obeyed by the holder or by who takes over. */
  'run.requested': z.strictObject({
    request: z.enum(['cancel', 'interrupt', 'steer']),
    reason: z.string(),
    input: jsonValue.optional(),
  }),
  /** Resuming found another number of waiting contracts than the checkpoint expects. */
  'run.misaligned': z.strictObject({ expected: z.array(z.string()), found: z.array(z.string()) }),

  'turn.started': z.strictObject({ turn_id: z.string(), agent_id: z.string(), input: jsonValue }),
  /** Deltas are coalesced; `offset` is where this fragment begins in the text of its round. */
  'turn.assistant_delta': z.strictObject({
    content: z.string(),
    channel: z.enum(['text', 'reasoning']),
    round: z.int(),
    offset: z.int(),
  }),
  /** What the model makes of the mood of whom it talks to. It moves nothing. */
  'turn.emotion_detected': z.strictObject({
    primary: z.string(),
    category: z.string(),
    confidence: z.number().min(0).max(1),
  }),
  /**
   * `text` is all the model said in this round, so that readers need not gather deltas. `provider_state` is what the model
   * wants to see again with this answer, such as signatures of its reasoning; only `provider_model`, which sent it, gets
   * it back.
   */
  'turn.tool_calls_received': z.strictObject({
    call_ids: z.array(z.string()),
    round: z.int(),
    text: z.string(),
    usage,
    provider_state: jsonValue.optional(),
    provider_model: z.string().optional(),
  }),
  /** `summary` is what was called. What came of it is told by the beginning of its result or of its error. */
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
  /** What a cut answer used is spent all the same. */
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
}
