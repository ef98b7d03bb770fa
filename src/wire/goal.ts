import { z } from 'zod'
import { stateNames } from '../kernel/machine.ts'
import { goalMachine, goalStopNames } from '../machines/goal.ts'
import { taskMachine } from '../machines/task.ts'
import { interactionKind, jsonValue } from '../runes/kinds.ts'
import { listOf } from './common.ts'
import { obstacleShape } from './run.ts'
import { abandonedShape } from './session.ts'

/** A state of the goal machine. */
export const goalState = z.enum(stateNames(goalMachine))

const taskFields = {
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
  /** It is done only if this holds. Null: it has no condition. */
  condition: z
    .object({
      text: z.string(),
      /** Null: it is not decided yet, or could not be decided. */
      holds: z.boolean().nullable(),
      decided_by: z.enum(['rule', 'critic', 'human', 'policy']).nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
  reason: z.string().nullable(),
  result: jsonValue,
}

/** A goal as people look at it. */
export const goalShape = z.object({
  goal_id: z.string(),
  session_id: z.string(),
  goal: z.string(),
  state: goalState,
  reason: z.string().nullable(),
  /** Why it was stopped, as `goalStops` names it. */
  cause: z.enum(goalStopNames).nullable(),
  received_at: z.int(),
  since: z.int(),
  ended_at: z.int().nullable(),
  plan_id: z.string().nullable(),
  drafts: z.int(),
  /** How often it was executed and reviewed. */
  iterations: z.int(),
  budget: z.object({
    tokens: z.int().optional(),
    tool_calls: z.int().optional(),
    wall_time_ms: z.int().optional(),
    cost_usd: z.number().optional(),
    iterations: z.int(),
  }),
  used: z.object({ tokens: z.int(), tool_calls: z.int(), cost_usd: z.number(), wall_time_ms: z.int() }),
  tasks: listOf(taskFields),
  /** Everything that a person has to answer before it can go on, or could; once it is over, which outcomes to settle. */
  waits_for: listOf({
    interaction_id: z.string(),
    interaction_kind: interactionKind,
    prompt: z.string(),
    task_id: z.string().nullable(),
    run_id: z.string().nullable(),
  }),
  /** Its session is paused or suspended, and nothing of the goal is under way; null if it can go on, or is over. */
  held_up_by: obstacleShape.nullable(),
  /** A run of it is running, and its process is gone; null where a process works on the store. */
  abandoned: abandonedShape.nullable(),
})

/** How serious a finding is. */
export const severities = ['error', 'warning', 'suggestion', 'info'] as const
/** What a finding is about. */
export const categories = ['correctness', 'security', 'performance', 'style', 'completeness'] as const

const findingFields = {
  id: z.string(),
  severity: z.enum(severities),
  category: z.enum(categories),
  title: z.string(),
  description: z.string(),
  evidence: z.array(z.string()).readonly(),
  /** Null: it is about the whole of it. */
  task_id: z.string().nullable(),
  /** The same task, as the plan calls it. */
  task: z.string().nullable(),
  suggested_fix: z.string().nullable(),
}

/** One review of a goal by its critic. */
export const critiqueShape = z.object({
  /** Which review of the goal it was, from 1. */
  iteration: z.int(),
  plan_id: z.string(),
  event_id: z.int(),
  at: z.int(),
  /** What was found has been erased since. */
  is_redacted: z.boolean(),
  findings: listOf(findingFields),
})
/** One review of a goal by its critic. */
export type CritiqueReport = z.infer<typeof critiqueShape>

/** A goal as people look at it. */
export type Goal = z.infer<typeof goalShape>
