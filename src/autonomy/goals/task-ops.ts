import type { Json } from '../../kernel/json.ts'
import type { TaskState } from '../../machines/task.ts'
import type { TaskView } from '../../observation/goal-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import { subject } from '../../runtime/batch.ts'
import { openRun, spawn } from '../../runtime/commands/submit.ts'
import { notesFor } from './critique.ts'
import { decideCondition } from './decide-condition.ts'
import { aboutGoal, type Desk, dismiss } from './desk.ts'
import { type Input, inputsOf, type Outcome } from './inputs.ts'
import { briefOf, taskInput } from './prompts.ts'
import { type Op, waitsFor } from './schedule.ts'

const actor = 'scheduler' as const

/** Writes what was decided about a task, with everything that belongs to it. */
export function applyOp(desk: Desk, tasks: readonly TaskView[], op: Op, outcomeOf: (task_id: string) => Outcome) {
  const { task_id } = op
  const task = tasks.find(({ planned }) => planned.task_id === task_id)
  if (task === undefined) return
  const handle = handleOf(desk, task_id)
  switch (op.op) {
    case 'begin':
      return void handle.move('begin', { task_id })
    case 'complete':
      complete(desk, task, op.result)
      return dismiss(desk, task)
    case 'fail':
      handle.move('fail', { reason: op.reason }, unknownOf(desk, task))
      return dismiss(desk, task)
    case 'block':
      return void handle.move('block', { reason: op.reason })
    case 'unblock':
      return void handle.move('unblock', {})
    case 'skip':
      return void handle.move('skip', { reason: op.reason })
    case 'pass':
      handle.move('unblock', {})
      return complete(desk, task, 'approved')
    case 'decide':
      return decideCondition(desk, tasks, task, outcomeOf)
    case 'ask':
      return askReview(desk, tasks, task)
    case 'assign':
    case 'resume':
      giveOut(desk, task, op.op, { tasks, inputs: inputsOf(tasks, task.planned, outcomeOf) })
  }
}

function handleOf({ batch, goal }: Desk, task_id: string) {
  return batch.on(subject.task(goal.goal_id, task_id), actor)
}

/** How many actions of the task have an unknown outcome. */
function unknownOf({ state }: Desk, { run_ids }: TaskView) {
  const calls = [...state.calls.values()].filter(({ run_id }) => run_ids.includes(run_id))
  return {
    unknown: calls.filter(({ contract, reason }) => contract === 'waiting' && reason === 'outcome_unknown').length,
  }
}

/** What the guards of `assign` read: what the task waits for after this append, and what was decided about its condition. */
function readiness({ batch }: Desk, tasks: readonly TaskView[], { planned, condition }: TaskView) {
  const holds = condition?.decided?.holds
  return {
    waits_for: waitsFor(tasks, (task_id) => batch.stateOf(task_id) as TaskState | undefined, planned),
    condition: condition === null ? 'none' : holds == null ? 'undecided' : holds ? 'holds' : 'fails',
  } as const
}

function complete(desk: Desk, { planned, evidence, run_ids, interaction_id }: TaskView, result: Json) {
  const { task_id } = planned
  const source = interaction_id === null ? { run_id: run_ids.at(-1) ?? '' } : { interaction_id }
  const payload = { task_id, result, evidence: [source, ...evidence.map((event_id) => ({ event_id }))] }
  handleOf(desk, task_id).move('complete', payload)
}

interface Around {
  readonly tasks: readonly TaskView[]
  readonly inputs: readonly Input[]
}

/** A task has an agent to itself, with a dialogue of its own; it leaves when the task is over. */
function giveOut(desk: Desk, task: TaskView, op: 'assign' | 'resume', { tasks, inputs }: Around) {
  const { engine, state, goal, config, ids, batch, prepared } = desk
  const { task_id, owner, tools } = task.planned
  const handle = handleOf(desk, task_id)
  if (owner === null || !engine.agents.has(owner)) {
    const reason = `The agent ${owner} is not configured any more.`
    if (op === 'assign') handle.move('skip', { reason })
    else handle.move('fail', { reason }, unknownOf(desk, task))
    return
  }
  const attempt = task.run_ids.length + 1
  const agent_id = ids.taskAgent(task_id, attempt)
  const problem = prepared.get(`${task_id} ${task.run_ids.length}`)
  const settled = op === 'resume' ? (state.agents.get(task.agent_id ?? '')?.facts ?? []) : []
  if (op === 'assign') handle.move('assign', { task_id, agent_id }, readiness(desk, tasks, task))
  else if (problem === undefined) handle.move('unblock', {})
  spawn(engine, batch, { name: owner, parent_id: goal.agent_id, agent_id, problem })
  if (problem !== undefined) {
    if (op === 'assign') handle.move('begin', { task_id })
    handle.move('fail', { reason: `Its agent could not be set up: ${problem}` }, unknownOf(desk, task))
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
  brief(desk, notesFor(goal, task.planned), { run_id: ids.taskRun(task_id, attempt), agent_id, task_id })
}

/** Tells a run what the critic found. The rune is internal, as the critique that it quotes. */
export function brief({ batch, goal }: Desk, notes: readonly string[], about: Concerns) {
  if (notes.length === 0) return
  const said = { actor, payload: { text: briefOf(notes) }, visibility: 'internal' as const }
  batch.record('run.briefed', said, { ...about, goal_id: goal.goal_id })
}

function askReview(desk: Desk, tasks: readonly TaskView[], task: TaskView) {
  const { batch, ids, goal } = desk
  const { task_id, key, title, description } = task.planned
  const handle = handleOf(desk, task_id)
  handle.move('assign', { task_id, agent_id: 'human' }, readiness(desk, tasks, task))
  handle.move('begin', { task_id })
  handle.move('block', { reason: 'It waits for a person to review it.' })
  const behind = goal.tasks.filter(({ planned: other }) => other.depends_on.includes(task_id))
  const question = {
    interaction_kind: 'approval' as const,
    prompt: `${title}. ${description}`.trim(),
    request: {
      goal_id: goal.goal_id,
      task_id,
      review: key,
      before: behind.map(({ planned: { key, title, description, tools } }) => ({
        task: key,
        title,
        description,
        tools: tools.map(({ name }) => name),
      })),
      options: ['approve', 'deny'],
    },
    evidence: [],
    deadline: null,
    on_silence: 'wait' as const,
    digest: null,
  }
  batch.on(subject.newQuestion(ids.question(task_id), aboutGoal(desk, task_id)), actor).open(question)
}
