import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { type GoalState, goalMachine } from '../machines/goal.ts'
import { type TaskState, taskMachine } from '../machines/task.ts'
import type { Rune } from '../runes/rune.ts'
import type { Finding, GoalView, PlannedTask, TaskView } from './goal-state.ts'
import type { SessionState } from './session-state.ts'

/** Folds goals and their tasks. */
export function foldGoal(state: SessionState, rune: Rune) {
  if (rune.kind === 'plan.goal_received') received(state, rune)
  else if (rune.kind === 'tool.result') evidenceFound(state, rune)
  const goal = rune.goal_id === undefined ? undefined : state.goals.get(rune.goal_id)
  if (goal === undefined) return
  if (rune.machine === goalMachine.name) moved(goal, rune)
  const task = rune.task_id === undefined ? undefined : taskOf(goal, rune.task_id)
  if (task === undefined) foldGoalRune(goal, rune)
  else foldTaskRune(task, rune)
}

function foldGoalRune(goal: GoalView, rune: Rune) {
  switch (rune.kind) {
    case 'plan.created': {
      const { plan_id, tasks } = rune.payload
      goal.drafts.push({ plan_id, outcome: 'judged', failure: null, after_critiques: goal.critiques.length })
      goal.plan = { plan_id, tasks: tasks as PlannedTask[], interaction_id: null }
      goal.given = null
      goal.revise = null
      return
    }
    case 'plan.updated':
      return updated(goal, rune)
    case 'plan.critique': {
      const { plan_id, findings } = rune.payload
      goal.critiques.push({ plan_id, findings: findings as Finding[] })
      return
    }
    case 'task.opened':
      goal.tasks.push(newTask(rune))
      return
    case 'interaction.opened':
      if (goal.plan !== null && rune.coordination_id === undefined)
        goal.plan.interaction_id = rune.interaction_id ?? null
  }
}

function foldTaskRune(task: TaskView, rune: Rune) {
  if (rune.machine === taskMachine.name) taskMoved(task, rune)
  switch (rune.kind) {
    case 'interaction.opened': {
      const question = rune.interaction_id ?? null
      if (task.condition !== null && 'condition' in rune.payload.request) task.condition.interaction_id = question
      else task.interaction_id = question
      return
    }
    case 'task.condition_decided': {
      const { condition: _, ...decided } = rune.payload
      // Two processes may both record it; the first one counts.
      if (task.condition !== null) task.condition.decided ??= decided
      return
    }
    case 'run.submitted':
      task.run_ids.push(rune.run_id ?? '')
      task.agent_id = rune.agent_id ?? null
      return
    case 'plan.task_completed':
      task.result = rune.payload.result
  }
}

/** Tasks are few and looked up only when one of them changes. */
export function taskOf(goal: GoalView, task_id: string): TaskView | undefined {
  return goal.tasks.findLast(({ planned }) => planned.task_id === task_id)
}

function received(state: SessionState, rune: Rune<'plan.goal_received'>) {
  const { goal_description, config } = rune.payload
  const goal_id = rune.goal_id ?? ''
  state.goals.set(goal_id, {
    goal_id,
    goal_description,
    config,
    agent_id: rune.agent_id ?? '',
    received_at: rune.at,
    state: goalMachine.initial as GoalState,
    drafts: [],
    given: config.plan ?? null,
    revise: null,
    plan: null,
    tasks: [],
    added: 0,
    critiques: [],
    reason: null,
    cause: null,
    since: rune.at,
    ended_at: null,
  })
}

function moved(goal: GoalView, rune: Rune) {
  goal.state = rune.to as GoalState
  const { reason = null } = rune.payload as { reason?: string }
  goal.reason = reason
  if (rune.kind === 'plan.stopped') goal.cause = rune.payload.cause
  goal.since = rune.at
  // The approved plan started; a plan that was given too late is dropped.
  if (rune.trigger === 'plan_approved' || rune.trigger === 'auto_start') goal.given = null
  if (rune.trigger === 'all_tasks_terminal') goal.added = 0
  if (rune.trigger === 'plan_rejected' || rune.trigger === 'needs_replan') {
    goal.plan = null
    goal.revise = reason
  }
  if (isTerminal(goalMachine, goal.state)) goal.ended_at = rune.at
}

/** The changes of a `plan.updated` rune. */
type PlanChange =
  | { readonly change: 'draft_failed'; readonly failure: Json }
  | { readonly change: 'plan_given'; readonly plan: Json }
  | { readonly change: 'tasks_added'; readonly task_ids: readonly string[] }

function updated(goal: GoalView, { payload }: Rune<'plan.updated'>) {
  const changes = payload.changes as PlanChange
  if (changes.change === 'draft_failed') {
    const { plan_id } = payload
    // Two processes may both record it; it is one draft.
    if (goal.drafts.some((draft) => draft.plan_id === plan_id)) return
    goal.drafts.push({ plan_id, outcome: 'failed', failure: changes.failure, after_critiques: goal.critiques.length })
    goal.given = null
  } else if (changes.change === 'plan_given') goal.given = changes.plan
  else if (changes.change === 'tasks_added') goal.added = changes.task_ids.length
}

function newTask({ payload }: Rune<'task.opened'>): TaskView {
  const planned = payload.task as PlannedTask
  return {
    plan_id: payload.plan_id,
    planned,
    state: taskMachine.initial as TaskState,
    agent_id: null,
    run_ids: [],
    condition: planned.condition === null ? null : { interaction_id: null, decided: null },
    interaction_id: null,
    reason: null,
    result: null,
    evidence: [],
  }
}

function taskMoved(task: TaskView, rune: Rune) {
  task.state = rune.to as TaskState
  task.reason = (rune.payload as { reason?: string }).reason ?? null
}

function evidenceFound(state: SessionState, { run_id = '', event_id }: Rune<'tool.result'>) {
  for (const goal of state.goals.values())
    for (const task of goal.tasks)
      if (task.state !== 'pending' && task.run_ids.includes(run_id)) task.evidence.push(event_id)
}
