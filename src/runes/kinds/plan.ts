import { z } from 'zod'
import { goalStopNames } from '../../machines/goal.ts'
import { jsonObject, jsonValue } from '../json-value.ts'

/** The runes about plans. */
export const planKinds = {
  'coordination.received': z.strictObject({
    intent_id: z.string(),
    /** The hash of everything that went in: the same input has the same run id everywhere. */
    run_id: z.string().optional(),
    input_sha256: z.string(),
    input: jsonObject,
    /** How long each pack of questions stays open. Without it, for ever. */
    answer_timeout_ms: z.int().positive().optional(),
  }),
  'coordination.moved': z.strictObject({
    guards: z.array(z.strictObject({ guard_name: z.string(), passed: z.boolean(), reason: z.string() })),
    outputs: z.array(z.strictObject({ artifact_type: z.string(), artifact_id: z.string(), checksum: z.string() })),
    duration_ms: z.int().nonnegative(),
    failure: jsonObject.optional(),
  }),
  /** What an ended coordination leaves behind: the files, each by the reference under which its text is kept. */
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
    decided_by: z.enum(['rule', 'critic', 'human', 'policy']),
    /** The rule engine, the run of the critic, or the person. */
    decider: z.string(),
    reason: z.string(),
  }),
  'task.moved': z.strictObject({ reason: z.string().optional() }),
  'plan.task_assigned': z.strictObject({ task_id: z.string(), agent_id: z.string() }),
  'plan.task_started': z.strictObject({ task_id: z.string() }),
  'plan.task_completed': z.strictObject({ task_id: z.string(), result: jsonValue, evidence: z.array(jsonValue) }),
}
