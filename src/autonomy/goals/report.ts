import { type Decided, type GoalView, type TaskView, worksFor } from '../../observation/goal-state.ts'
import { obstacleInSession } from '../../observation/obstacle.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { abandonedBy, type Left } from '../../observation/unsettled.ts'
import type { Goal } from '../../wire/goal.ts'
import { currentTasks } from './critique.ts'
import { configOf } from './goal-context.ts'

/** A goal as clients see it. */
export type GoalReport = Readonly<Goal>
/** One task in the report of a goal. */
export type TaskReport = Goal['tasks'][number]
/** A question that a goal waits for. */
export type WaitReport = Goal['waits_for'][number]

/** `left`: runs and calls of a dead process that are still recorded as running. */
export function reportOf(state: SessionState, goal: GoalView, now: number, left = nothingLeft): GoalReport {
  const { goal_id, goal_description, state: at, cause, received_at, since, ended_at, plan, drafts, critiques } = goal
  const config = configOf(goal)
  const { tokens = 0, tool_calls = 0, cost_usd = 0 } = state.agents.get(goal.agent_id)?.used ?? {}
  const tasks = plan === null ? goal.tasks : currentTasks(goal)
  const waits = waitsOf(state, goal)
  const held_up_by = ended_at === null && !isAtWork(state, goal, left.run_ids) ? obstacleInSession(state) : null
  const isAsked = ({ planned, run_ids }: TaskView) =>
    waits.some(({ task_id }) => task_id === planned.task_id) ||
    state.runs.get(run_ids.at(-1) ?? '')?.status === 'waiting_user'
  const isWaiting = held_up_by !== null || waits.some(isQuestion) || goal.tasks.some(isAsked)
  const reason = at === 'blocked' && !isWaiting ? answered : goal.reason
  // A plan that never started opened no tasks. If its goal is over, they are reported as cancelled.
  const unopened = ended_at === null ? {} : ({ state: 'cancelled', reason } as const)
  const planned =
    tasks.length > 0
      ? tasks.map((task) => taskReport(task, isAsked(task)))
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
    waits_for: ended_at === null ? waits : waits.filter(({ interaction_kind }) => interaction_kind === 'settlement'),
    held_up_by,
    abandoned: abandonedBy(leftOf(state, goal, left), ended_at === null ? `goal ${goal_id}` : undefined),
  }
}

const nothingLeft: Left = { run_ids: new Set(), unsettled: [] }
/** The reason while the record still says `blocked`, but no question is open. */
const answered = 'What it waited for is answered. It goes on when a process works on it.'

/** Whether the goal needs the answer before it goes on. A notice needs none. */
export function isQuestion({ interaction_kind }: WaitReport): boolean {
  return interaction_kind !== 'notice'
}

function leftOf(state: SessionState, goal: GoalView, { run_ids, unsettled }: Left): Left {
  const isOwn = (run_id: string) => isOfGoal(state, goal, run_id)
  return { run_ids: new Set([...run_ids].filter(isOwn)), unsettled: unsettled.filter(({ run_id }) => isOwn(run_id)) }
}

function taskReport(task: TaskView, isAsked: boolean): TaskReport {
  const { planned, state, agent_id, run_ids, result, condition } = task
  const run_id = run_ids.at(-1) ?? null
  const reason = state === 'blocked' && !isAsked ? answered : task.reason
  return { ...plannedReport(planned, condition?.decided ?? null), state, agent_id, run_id, reason, result }
}

function plannedReport(planned: TaskView['planned'], decided: Decided | null = null): TaskReport {
  const { key: task, tools: _, command_id: __, needs: ___, condition: text, ...rest } = planned
  const { holds = null, decided_by = null, reason = null } = decided ?? {}
  const condition = text === null ? null : { text, holds, decided_by, reason }
  return { ...rest, task, condition, state: 'pending', agent_id: null, run_id: null, reason: null, result: null }
}

/** The open questions of a goal: about its plan, its reviews, its conditions, and those of its runs. */
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

/** Whether a worker has a run of the goal. `lost`: runs whose worker is gone. */
export function isAtWork(state: SessionState, goal: GoalView, lost = nothingLeft.run_ids): boolean {
  const running = [...state.openRuns.values()].filter(({ status }) => status === 'running')
  return running.some(({ run_id }) => !lost.has(run_id) && isOfGoal(state, goal, run_id))
}

function isOfGoal(state: SessionState, goal: GoalView, run_id: string): boolean {
  return worksFor(state, goal, state.runs.get(run_id)?.agent_id ?? '')
}
