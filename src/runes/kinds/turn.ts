import { z } from 'zod'
import { jsonValue } from '../json-value.ts'

const usage = z.strictObject({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  /** What it cost, where the agent has a price. */
  cost_usd: z.number().nonnegative().optional(),
})

/** The runes about turns. */
export const turnKinds = {
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
