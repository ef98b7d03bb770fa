import { z } from 'zod'
import { jsonObject, jsonValue } from '../json-value.ts'
import { budget } from './agent.ts'

const budgetSpent = z.strictObject({
  limit: z.enum(['tokens', 'tool_calls', 'cost_usd', 'wall_time_ms']),
  used: z.number(),
  allowed: z.number(),
  needed: z.int().nonnegative().exactOptional(),
})

/** The runes about runs. */
export const runKinds = {
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
}
