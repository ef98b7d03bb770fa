import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { taskMachine } from '../../machines/task.ts'
import type { TaskView } from '../../observation/goal-state.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import { subject } from '../../runtime/batch.ts'
import { currentTasks } from './critique.ts'
import type { Desk } from './desk.ts'
import type { GoalIds } from './goal-ids.ts'
import { outcomesOf } from './inputs.ts'
import { type Op, type QuestionFacts, type RunFacts, type Schedule, schedule, type TaskFacts } from './schedule.ts'
import { stopGoal } from './stop-goal.ts'
import { applyOp } from './task-ops.ts'

/** Tasks are worked on, or everything that could be waits. */
export function decideExecuting(desk: Desk) {
  const { state, goal, config, batch, now } = desk
  const session = state.subjects.get(state.session_id)?.state ?? 'unknown'
  const tasks = currentTasks(goal)
  const { max_parallel, per_agent } = config
  const limits = { max_parallel, per_agent, is_active: session === 'active' }
  const facts = tasks.map((task) => factsOf(state, task, desk.ids))
  const scheduled = schedule(facts, limits)
  const { ops, states, is_moving } = scheduled
  const allOver = [...states.values()].every((state) => isTerminal(taskMachine, state))
  const ready = ops.filter((op) => isReady(desk, tasks, op))

  if (goal.state === 'blocked') {
    if (ready.length === 0 && !is_moving && !allOver) {
      const since = config.max_blocked_ms === null ? null : goal.since + config.max_blocked_ms
      if (since !== null && now >= since)
        stopGoal(desk, 'blocked_too_long', `It was blocked for ${config.max_blocked_ms} ms: ${goal.reason}`, 'timer')
      return
    }
    if (ready.length === 0 && ops.length > 0) return
    move(desk, 'dependency_resolved')
  }
  const outcomeOf = outcomesOf(tasks, scheduled)
  for (const op of ready) applyOp(desk, tasks, op, outcomeOf)
  if (ready.length < ops.length) return
  if (allOver) move(desk, 'all_tasks_terminal')
  else if (!is_moving) move(desk, 'all_runnable_blocked', whyBlocked(facts, states, session))

  function move(
    { goal: { goal_id } }: Desk,
    trigger: 'dependency_resolved' | 'all_tasks_terminal' | 'all_runnable_blocked',
    reason?: string,
  ) {
    const payload = reason === undefined ? {} : { reason }
    batch.on(subject.goal(goal_id), 'scheduler').move(trigger, payload)
  }
}

/** An agent that has to be set up is set up before its task is given out; meanwhile the rest goes on. */
function isReady({ engine, prepared, errands }: Desk, tasks: readonly TaskView[], { op, task_id }: Op): boolean {
  if (op !== 'assign' && op !== 'resume') return true
  const task = tasks.find(({ planned }) => planned.task_id === task_id)
  const agent = task?.planned.owner ?? ''
  const definition = engine.agents.get(agent)
  // Another process may have it; where there is none, the task is skipped and says so.
  if (definition === undefined) return engine.isAlone
  if (definition.prepare === undefined) return true
  const key = `${task_id} ${task?.run_ids.length}`
  if (prepared.has(key)) return true
  errands.push({ errand: 'prepare', agent, key })
  return false
}

function whyBlocked(tasks: readonly TaskFacts[], states: Schedule['states'], session: string): string {
  const blocked = tasks.filter(({ planned, condition }) => {
    const state = states.get(planned.task_id)
    return state === 'blocked' || (state === 'pending' && condition?.asks === 'person')
  })
  if (blocked.length === 0) return `The session is ${session}.`
  return `${blocked.map(({ planned }) => planned.key).join(', ')} ${blocked.length === 1 ? 'waits' : 'wait'}.`
}

/** What the session knows about a task of a goal. */
function factsOf(state: SessionState, task: TaskView, ids: GoalIds): TaskFacts {
  const { planned, state: at, run_ids, interaction_id, condition } = task
  const run = state.runs.get(run_ids.at(-1) ?? '')
  return {
    planned,
    state: at,
    run: run === undefined ? null : runFacts(state, run),
    question: interaction_id === null ? null : questionFacts(state, interaction_id),
    condition: condition && { decided: condition.decided, asks: askedIn(state, task, ids) },
  }
}

/** Whom the condition of a task waits for. */
function askedIn({ interactions, runs }: SessionState, { planned, condition }: TaskView, ids: GoalIds) {
  if (interactions.get(condition?.interaction_id ?? '')?.state === 'open') return 'person'
  for (let attempt = 1; ; attempt++) {
    const run = runs.get(ids.conditionRun(planned.task_id, attempt))
    if (run === undefined) return null
    if (!isTerminal(runMachine, run.status)) return 'critic'
  }
}

function runFacts(state: SessionState, { run_id, status, result, error_code, message }: RunView): RunFacts {
  const is_unsettled =
    error_code === 'OUTCOME_UNKNOWN' &&
    [...state.calls.values()].some(
      (call) => call.run_id === run_id && call.reason === 'outcome_unknown' && call.contract === 'waiting',
    )
  return { status, result, error_code, message, is_unsettled }
}

function questionFacts(state: SessionState, interaction_id: string): QuestionFacts {
  const question = state.interactions.get(interaction_id)
  if (question === undefined || question.state === 'open') return { outcome: 'open', reason: '' }
  if (question.answered === null) return { outcome: 'denied', reason: 'The review was not answered.' }
  const { decision, reason } = question.answered.reply as { decision: string; reason?: string }
  if (decision === 'approve') return { outcome: 'approved', reason: '' }
  return { outcome: 'denied', reason: reason ?? `Refused by ${question.answered.replied_by}.` }
}
