import { z } from 'zod'
import { goalConfig } from '../../autonomy/goals/goal-config.ts'
import type { GoalReport } from '../../autonomy/goals/report.ts'
import { stateNames } from '../../kernel/machine.ts'
import { goalMachine } from '../../machines/goal.ts'
import { goalStopNames } from '../../machines/goal-stops.ts'
import { taskMachine } from '../../machines/task.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { id } from './id.ts'
import { obstacleShape } from './run.ts'
import { abandonedShape } from './session.ts'

export const goalState = z.enum(stateNames(goalMachine))

const taskShape = z.object({
  task_id: z.string(),
  task: z.string(),
  kind: z.enum(['work', 'review']),
  title: z.string(),
  description: z.string(),
  state: z.enum(stateNames(taskMachine)),
  priority: z.string(),
  owner: z.string().nullable(),
  agent_id: z.string().nullable(),
  run_id: z.string().nullable(),
  depends_on: z.array(z.string()).readonly(),
  instead_of: z.string().nullable(),
  retries: z.string().nullable(),
  condition: z
    .object({
      text: z.string(),
      holds: z.boolean().nullable(),
      decided_by: z.enum(['rule', 'critic', 'human', 'policy']).nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
  reason: z.string().nullable(),
  result: jsonValue,
})

export const goalShape: z.ZodType<GoalReport> = z.object({
  goal_id: z.string(),
  session_id: z.string(),
  goal: z.string(),
  state: goalState,
  reason: z.string().nullable(),
  cause: z.enum(goalStopNames).nullable(),
  received_at: z.int(),
  since: z.int(),
  ended_at: z.int().nullable(),
  plan_id: z.string().nullable(),
  drafts: z.int(),
  iterations: z.int(),
  budget: z.object({
    tokens: z.int().optional(),
    tool_calls: z.int().optional(),
    wall_time_ms: z.int().optional(),
    cost_usd: z.number().optional(),
    iterations: z.int(),
  }) as z.ZodType<GoalReport['budget']>,
  used: z.object({
    tokens: z.int(),
    tool_calls: z.int(),
    cost_usd: z.number(),
    wall_time_ms: z.int(),
  }),
  tasks: z.array(taskShape).readonly(),
  waits_for: z
    .array(
      z.object({
        interaction_id: z.string(),
        interaction_kind: z.string(),
        prompt: z.string(),
        task_id: z.string().nullable(),
        run_id: z.string().nullable(),
      }),
    )
    .readonly(),
  /** Its session is paused or suspended, and nothing of the goal is under way; null if it can go on, or is over. */
  held_up_by: obstacleShape.nullable(),
  /** A run of it is running, and its process is gone; null where a process works on the store. */
  abandoned: abandonedShape.nullable(),
})

/** What a goal is set with: as in the library, by the same names. */
export const goalBody = z.strictObject({
  goal: z.string().min(1).max(100_000),
  session_id: id.optional(),
  ...goalConfig.partial().shape,
})
