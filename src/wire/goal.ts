import * as z from 'zod'
import { stateNames } from '../kernel/machine.ts'
import { goalMachine, goalStopNames } from '../machines/goal.ts'
import { taskMachine } from '../machines/task.ts'
import { budget, conditionDeciders, interactionKind, jsonValue } from '../runes/kinds.ts'
import { listOf, pageOf, pageQuery, reason, repliedBy, why } from './common.ts'
import { endpoint } from './endpoint.ts'
import { obstacleShape } from './run.ts'
import { abandonedShape } from './session.ts'

/** A state of the goal machine. */
const goalState = z.enum(stateNames(goalMachine))

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
      decided_by: z.enum(conditionDeciders).nullable(),
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
  budget: z.object({ ...budget.shape, iterations: z.int() }),
  used: z.object({ tokens: z.int(), tool_calls: z.int(), cost_usd: z.number(), wall_time_ms: z.int() }),
  tasks: listOf(taskFields),
  /** The questions that a person must or can answer; once the goal is over, the outcomes to settle. */
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
/** The topic of a finding. */
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
const critiqueShape = z.object({
  /** Which review of the goal it was, from 1. */
  iteration: z.int(),
  plan_id: z.string(),
  event_id: z.int(),
  at: z.int(),
  /** The content of the finding has been erased. */
  is_redacted: z.boolean(),
  findings: listOf(findingFields),
})
/** One review of a goal by its critic. */
export type CritiqueReport = z.infer<typeof critiqueShape>

/** A goal as people look at it. */
export type Goal = z.infer<typeof goalShape>

const decision = { task: z.string().max(200).optional(), reason, replied_by: repliedBy }

/** The endpoints of goals that exist. */
export const goalEndpoints = {
  listGoals: endpoint('list_goals', 'GET /api/goals', {
    query: z.strictObject({ ...pageQuery, state: goalState.optional() }),
    returns: pageOf(goalShape),
  }),
  getGoal: endpoint('get_goal', 'GET /api/goals/{goal_id}', { returns: goalShape }),
  approveGoal: endpoint('approve_goal', 'POST /api/goals/{goal_id}/approve', {
    body: z.strictObject(decision),
    returns: goalShape,
  }),
  rejectGoal: endpoint('reject_goal', 'POST /api/goals/{goal_id}/reject', {
    body: z.strictObject({ ...decision, plan: jsonValue.optional() }),
    returns: goalShape,
  }),
  cancelGoal: endpoint('cancel_goal', 'POST /api/goals/{goal_id}/cancel', {
    body: why,
    returns: z.object({ accepted: z.boolean(), goal: goalShape }),
  }),
  getGoalCritiques: endpoint('get_goal_critiques', 'GET /api/goals/{goal_id}/critiques', {
    returns: z.object({ goal_id: z.string(), critiques: z.array(critiqueShape).readonly() }),
  }),
}
