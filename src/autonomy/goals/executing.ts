import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { type TaskState, taskMachine } from '../../machines/task.ts'
import type { TaskView } from '../../observation/goal-state.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import { unsettledCalls } from '../../observation/unsettled.ts'
import type { Concerns } from '../../runes/rune.ts'
import { subject } from '../../runtime/batch.ts'
import { openRun, spawn } from '../../runtime/commands/submit.ts'
import { decideCondition } from './condition.ts'
import { currentTasks, notesFor } from './critique.ts'
import { aboutGoal, approvalOf, dismiss, type GoalContext, type GoalIds, isPrepared, stopGoal } from './goal-context.ts'
import { briefOf, type Inputs, inputsOf, type Outcomes, outcomesOf, taskInput } from './prompts.ts'
import {
  type Op,
  type QuestionFacts,
  type RunFacts,
  type Schedule,
  schedule,
  type TaskFacts,
  waitsFor,
} from './schedule.ts'

const actor = 'scheduler' as const

/** Decides about a goal in `executing` or `blocked`. */
export function decideExecuting(context: GoalContext) {
  const { state, goal, config, batch, now } = context
  const session = state.subjects.get(state.session_id)?.state ?? 'unknown'
  const tasks = currentTasks(goal)
  const { max_parallel, per_agent } = config
  const limits = { max_parallel, per_agent, is_active: session === 'active' }
  const facts = tasks.map((task) => factsOf(state, task, context.ids))
  const scheduled = schedule(facts, limits)
  const { ops, states, is_moving } = scheduled
  const allOver = [...states.values()].every((state) => isTerminal(taskMachine, state))
  const ready = ops.filter((op) => isReady(context, tasks, op))

  if (goal.state === 'blocked') {
    if (ready.length === 0 && !is_moving && !allOver) {
      const since = config.max_blocked_ms === null ? null : goal.since + config.max_blocked_ms
      if (since !== null && now >= since)
        stopGoal(context, 'blocked_too_long', `It was blocked for ${config.max_blocked_ms} ms: ${goal.reason}`, 'timer')
      return
    }
    if (ready.length === 0 && ops.length > 0) return
    batch.on(subject.goal(goal.goal_id), actor).move('dependency_resolved', {})
  }
  const outcomeOf = outcomesOf(tasks, scheduled)
  for (const op of ready) applyOp(context, tasks, op, outcomeOf)
  if (ready.length < ops.length) return
  const handle = batch.on(subject.goal(goal.goal_id), actor)
  if (allOver) handle.move('all_tasks_terminal', {})
  else if (!is_moving) handle.move('all_runnable_blocked', { reason: whyBlocked(facts, states, session) })
}

/** Whether the agent of a task is set up. Until then the task is not given out; the other tasks go on. */
function isReady(context: GoalContext, tasks: readonly TaskView[], { op, task_id }: Op): boolean {
  if (op !== 'assign' && op !== 'resume') return true
  const task = tasks.find(({ planned }) => planned.task_id === task_id)
  const agent = task?.planned.owner ?? ''
  const { agents, isAlone } = context.engine
  // Another process may have the agent. Without other processes, `giveOut` ends the task with the reason.
  return agents.has(agent) ? isPrepared(context, agent, `${task_id} ${task?.run_ids.length}`) : isAlone
}

function whyBlocked(tasks: readonly TaskFacts[], states: Schedule['states'], session: string): string {
  const blocked = tasks.filter(({ planned, condition }) => {
    const state = states.get(planned.task_id)
    return state === 'blocked' || (state === 'pending' && condition?.asks === 'person')
  })
  if (blocked.length === 0) return `The session is ${session}.`
  return `${blocked.map(({ planned }) => planned.key).join(', ')} ${blocked.length === 1 ? 'waits' : 'wait'}.`
}

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

/** Returns who decides the condition of a task now: a person, the critic, or neither. */
function askedIn({ interactions, runs }: SessionState, { planned, condition }: TaskView, ids: GoalIds) {
  if (interactions.get(condition?.interaction_id ?? '')?.state === 'open') return 'person'
  for (let attempt = 1; ; attempt++) {
    const run = runs.get(ids.conditionRun(planned.task_id, attempt))
    if (run === undefined) return null
    if (!isTerminal(runMachine, run.status)) return 'critic'
  }
}

function runFacts(state: SessionState, { run_id, status, result, error_code, message }: RunView): RunFacts {
  const is_unsettled = error_code === 'OUTCOME_UNKNOWN' && unsettledCalls(state, run_id) > 0
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

function applyOp(context: GoalContext, tasks: readonly TaskView[], op: Op, outcomeOf: Outcomes) {
  const { task_id } = op
  const task = tasks.find(({ planned }) => planned.task_id === task_id)
  if (task === undefined) return
  const handle = handleOf(context, task_id)
  switch (op.op) {
    case 'begin':
      return void handle.move('begin', { task_id })
    case 'complete':
      complete(context, task, op.result)
      return dismiss(context, task)
    case 'fail':
      handle.move('fail', { reason: op.reason })
      return dismiss(context, task)
    case 'block':
      return void handle.move('block', { reason: op.reason })
    case 'unblock':
      return void handle.move('unblock', {})
    case 'skip':
      return void handle.move('skip', { reason: op.reason })
    case 'pass':
      handle.move('unblock', {})
      return complete(context, task, 'approved')
    case 'decide':
      return decideCondition(context, tasks, task, outcomeOf)
    case 'ask':
      return askReview(context, tasks, task)
    case 'assign':
    case 'resume':
      giveOut(context, task, op.op, { tasks, inputs: inputsOf(tasks, task.planned, outcomeOf) })
  }
}

function handleOf({ batch, goal }: GoalContext, task_id: string) {
  return batch.on(subject.task(goal.goal_id, task_id), actor)
}

/** The tasks that the task still waits for after this append. */
function readiness({ batch }: GoalContext, tasks: readonly TaskView[], { planned }: TaskView) {
  return { waits_for: waitsFor(tasks, planned, (task_id) => batch.stateOf(task_id) as TaskState | undefined) }
}

function complete(context: GoalContext, { planned, evidence, run_ids, interaction_id }: TaskView, result: Json) {
  const { task_id } = planned
  const source = interaction_id === null ? { run_id: run_ids.at(-1) ?? '' } : { interaction_id }
  const payload = { task_id, result, evidence: [source, ...evidence.map((event_id) => ({ event_id }))] }
  handleOf(context, task_id).move('complete', payload)
}

type Around = { readonly tasks: readonly TaskView[]; readonly inputs: Inputs }

/** Spawns an agent for this task alone, with a dialogue of its own. `dismiss` ends it when the task is over. */
function giveOut(context: GoalContext, task: TaskView, op: 'assign' | 'resume', { tasks, inputs }: Around) {
  const { engine, state, goal, config, ids, batch, prepared } = context
  const { task_id, owner, tools } = task.planned
  const handle = handleOf(context, task_id)
  if (owner === null || !engine.agents.has(owner)) {
    const reason = `The agent ${owner} is not configured any more.`
    if (op === 'assign') handle.move('skip', { reason })
    else handle.move('fail', { reason })
    return
  }
  const attempt = task.run_ids.length + 1
  const agent_id = ids.taskAgent(task_id, attempt)
  const problem = prepared.get(`${task_id} ${task.run_ids.length}`)
  const settled = op === 'resume' ? (state.agents.get(task.agent_id ?? '')?.facts ?? []) : []
  if (op === 'assign') handle.move('assign', { task_id, agent_id }, readiness(context, tasks, task))
  else if (problem === undefined) handle.move('unblock', {})
  spawn(engine, batch, { name: owner, parent_id: goal.agent_id, agent_id, problem })
  if (problem !== undefined) {
    if (op === 'assign') handle.move('begin', { task_id })
    handle.move('fail', { reason: `Its agent could not be set up: ${problem}` })
    return
  }
  const submission = {
    agent: owner,
    input: taskInput(goal, task, inputs, settled),
    mode: config.mode,
    ...(config.task_budget === null ? {} : { budget: config.task_budget }),
  }
  const behalf = { actor, goal_id: goal.goal_id, task_id, allowed_tools: tools }
  openRun(batch, { run_id: ids.taskRun(task_id, attempt), agent_id }, submission, behalf)
  brief(context, notesFor(goal, task.planned), { run_id: ids.taskRun(task_id, attempt), agent_id, task_id })
}

/** Adds the critic's findings to the input of a run. The rune is internal, as the critique that it quotes. */
export function brief({ batch, goal }: GoalContext, notes: readonly string[], about: Concerns) {
  if (notes.length === 0) return
  const briefed = { actor, payload: { text: briefOf(notes) }, visibility: 'internal' as const }
  batch.record('run.briefed', briefed, { ...about, goal_id: goal.goal_id })
}

function askReview(context: GoalContext, tasks: readonly TaskView[], task: TaskView) {
  const { batch, ids, goal } = context
  const { task_id, key, title, description } = task.planned
  const handle = handleOf(context, task_id)
  handle.move('assign', { task_id, agent_id: 'human' }, readiness(context, tasks, task))
  handle.move('begin', { task_id })
  handle.move('block', { reason: 'It waits for a person to review it.' })
  const behind = goal.tasks.filter(({ planned: other }) => other.depends_on.includes(task_id))
  const before = behind.map(({ planned: { key: task, title, description, tools } }) => {
    return { task, title, description, tools: tools.map(({ name }) => name) }
  })
  const asked = approvalOf(`${title}. ${description}`.trim(), { goal_id: goal.goal_id, task_id, review: key, before })
  batch.on(subject.newQuestion(ids.question(task_id), aboutGoal(context, task_id)), actor).open(asked)
}
