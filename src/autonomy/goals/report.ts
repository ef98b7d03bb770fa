import type { Json } from '../../kernel/json.ts'
import { type Decided, type GoalView, type TaskView, worksFor } from '../../observation/goal-state.ts'
import { type Obstacle, obstacleInSession } from '../../observation/obstacle.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { currentTasks } from './critique.ts'
import { configOf, type GoalBudget } from './goal-config.ts'

/** A goal as people look at it. */
export interface GoalReport {
  readonly goal_id: string
  readonly session_id: string
  readonly goal: string
  readonly state: GoalView['state']
  readonly reason: string | null
  /** Why it was stopped, in one word. */
  readonly cause: GoalView['cause']
  readonly received_at: number
  readonly since: number
  readonly ended_at: number | null
  readonly plan_id: string | null
  readonly drafts: number
  /** How often it was executed and reviewed. */
  readonly iterations: number
  readonly budget: GoalBudget
  readonly used: {
    readonly tokens: number
    readonly tool_calls: number
    readonly cost_usd: number
    readonly wall_time_ms: number
  }
  readonly tasks: readonly TaskReport[]
  /** Everything that a person has to answer before it can go on, or could. */
  readonly waits_for: readonly WaitReport[]
  /** Its session is paused or suspended, and nothing of the goal is under way. Null: it can go on, or is over. */
  readonly held_up_by: Obstacle | null
}

export interface TaskReport {
  readonly task_id: string
  readonly task: string
  readonly kind: 'work' | 'review'
  readonly title: string
  readonly description: string
  readonly state: TaskView['state']
  readonly priority: string
  readonly owner: string | null
  readonly agent_id: string | null
  readonly run_id: string | null
  readonly depends_on: readonly string[]
  readonly instead_of: string | null
  readonly retries: string | null
  /** It is done only if this holds. Null: it has no condition. */
  readonly condition: ConditionReport | null
  readonly reason: string | null
  readonly result: Json
}

export interface ConditionReport {
  readonly text: string
  /** Null: it is not decided yet, or could not be decided. */
  readonly holds: boolean | null
  /** Who decided: a rule, the critic, a person, or the policy of the mode. Null: it is not decided yet. */
  readonly decided_by: Decided['decided_by'] | null
  readonly reason: string | null
}

export interface WaitReport {
  readonly interaction_id: string
  readonly interaction_kind: string
  readonly prompt: string
  readonly task_id: string | null
  readonly run_id: string | null
}

export function reportOf(state: SessionState, goal: GoalView, now: number): GoalReport {
  const {
    goal_id,
    goal_description,
    state: at,
    reason,
    cause,
    received_at,
    since,
    ended_at,
    plan,
    drafts,
    critiques,
  } = goal
  const config = configOf(goal)
  const { tokens = 0, tool_calls = 0, cost_usd = 0 } = state.agents.get(goal.agent_id)?.used ?? {}
  const tasks = plan === null ? goal.tasks : currentTasks(goal)
  // A plan that never started opened no tasks. Where its goal is over, they were given up with it.
  const unopened = ended_at === null ? {} : ({ state: 'cancelled', reason } as const)
  const planned =
    tasks.length > 0
      ? tasks.map(taskReport)
      : (plan?.tasks ?? []).map((task) => ({ ...plannedReport(task), ...unopened }))
  return {
    goal_id,
    session_id: state.session_id,
    goal: goal_description,
    state: at,
    reason,
    cause,
    received_at,
    since,
    ended_at,
    plan_id: plan?.plan_id ?? null,
    drafts: drafts.length,
    iterations: critiques.length,
    budget: config.budget,
    used: { tokens, tool_calls, cost_usd, wall_time_ms: (ended_at ?? now) - received_at },
    tasks: planned,
    waits_for: ended_at === null ? waitsOf(state, goal) : [],
    held_up_by: ended_at === null && !isAtWork(state, goal) ? obstacleInSession(state) : null,
  }
}

function taskReport({ planned, state, agent_id, run_ids, reason, result, condition }: TaskView): TaskReport {
  const run_id = run_ids.at(-1) ?? null
  return { ...plannedReport(planned, condition?.decided ?? null), state, agent_id, run_id, reason, result }
}

function plannedReport(planned: TaskView['planned'], decided: Decided | null = null): TaskReport {
  const { key: task, tools: _, command_id: __, needs: ___, condition: text, ...rest } = planned
  const { holds = null, decided_by = null, reason = null } = decided ?? {}
  const condition = text === null ? null : { text, holds, decided_by, reason }
  return { ...rest, task, condition, state: 'pending', agent_id: null, run_id: null, reason: null, result: null }
}

/** Its plan, its reviews, and whatever the runs of its tasks ask. */
export function waitsOf(state: SessionState, goal: GoalView): readonly WaitReport[] {
  const tasks = new Map<string, string>()
  for (const { planned, run_ids, interaction_id, condition } of goal.tasks) {
    for (const run_id of run_ids) tasks.set(run_id, planned.task_id)
    for (const question of [interaction_id, condition?.interaction_id ?? null])
      if (question !== null) tasks.set(question, planned.task_id)
  }
  return [...state.interactions.values()].flatMap(({ interaction_id, goal_id, run_id, opened, state: at }) => {
    if (at !== 'open') return []
    if (goal_id !== goal.goal_id && (run_id === null || !isOfGoal(state, goal, run_id))) return []
    const task_id = tasks.get(interaction_id) ?? tasks.get(run_id ?? '') ?? null
    return [{ interaction_id, interaction_kind: opened.interaction_kind, prompt: opened.prompt, task_id, run_id }]
  })
}

/** A worker has a run of the goal. */
export function isAtWork(state: SessionState, goal: GoalView): boolean {
  return [...state.openRuns.values()].some(
    ({ run_id, status }) => status === 'running' && isOfGoal(state, goal, run_id),
  )
}

function isOfGoal(state: SessionState, goal: GoalView, run_id: string): boolean {
  return worksFor(state, goal, state.runs.get(run_id)?.agent_id ?? '')
}
