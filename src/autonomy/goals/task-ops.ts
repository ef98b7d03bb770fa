import type { Json } from '../../kernel/json.ts'
import type { TaskView } from '../../observation/goal-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import { spawn } from '../../runtime/agents/spawn.ts'
import { openRun } from '../../runtime/commands/submit.ts'
import { notesFor } from './critique.ts'
import { decideCondition } from './decide-condition.ts'
import { aboutGoal, type Desk } from './desk.ts'
import { type Input, inputsOf, type Outcome } from './inputs.ts'
import { briefOf, taskInput } from './prompts.ts'
import type { Op } from './schedule.ts'
import { dismiss } from './workers.ts'

const actor = 'scheduler' as const

/** Writes what was decided about a task, with everything that belongs to it. */
export function applyOp(desk: Desk, tasks: readonly TaskView[], op: Op, outcomeOf: (task_id: string) => Outcome) {
  const { batch } = desk
  const { task_id } = op
  const task = tasks.find(({ planned }) => planned.task_id === task_id)
  if (task === undefined) return
  const about = aboutGoal(desk, task_id)
  const moved = (reason: string) => ({ actor, payload: { reason } })
  switch (op.op) {
    case 'begin':
      batch.move('task', task_id, 'begin', 'plan.task_started', { actor, payload: { task_id } }, about)
      return
    case 'complete':
      complete(desk, task, op.result)
      dismiss(desk, task)
      return
    case 'fail':
      batch.move('task', task_id, 'fail', 'task.moved', moved(op.reason), about, { outcome_is_known: true })
      dismiss(desk, task)
      return
    case 'block':
      batch.move('task', task_id, 'block', 'task.moved', moved(op.reason), about)
      return
    case 'unblock':
      batch.move('task', task_id, 'unblock', 'task.moved', { actor, payload: {} }, about)
      return
    case 'skip':
      batch.move('task', task_id, 'skip', 'task.moved', moved(op.reason), about)
      return
    case 'pass':
      batch.move('task', task_id, 'unblock', 'task.moved', { actor, payload: {} }, about)
      complete(desk, task, 'approved')
      return
    case 'decide':
      decideCondition(desk, tasks, task, outcomeOf)
      return
    case 'ask':
      askReview(desk, task)
      return
    case 'assign':
    case 'resume':
      giveOut(desk, task, op.op, inputsOf(tasks, task.planned, outcomeOf))
  }
}

function complete(desk: Desk, { planned, evidence, run_ids, interaction_id }: TaskView, result: Json) {
  const { task_id } = planned
  const source = interaction_id === null ? { run_id: run_ids.at(-1) ?? '' } : { interaction_id }
  const payload = { task_id, result, evidence: [source, ...evidence.map((event_id) => ({ event_id }))] }
  const about = aboutGoal(desk, task_id)
  desk.batch.move('task', task_id, 'complete', 'plan.task_completed', { actor, payload }, about)
}

/** A task has an agent to itself, with a dialogue of its own; it leaves when the task is over. */
function giveOut(desk: Desk, task: TaskView, op: 'assign' | 'resume', inputs: readonly Input[]) {
  const { engine, state, goal, config, ids, batch, prepared } = desk
  const { task_id, owner, tools } = task.planned
  const about = aboutGoal(desk, task_id)
  if (owner === null || !engine.agents.has(owner)) {
    const reason = `The agent ${owner} is not configured any more.`
    if (op === 'assign') batch.move('task', task_id, 'skip', 'task.moved', { actor, payload: { reason } }, about)
    else
      batch.move('task', task_id, 'fail', 'task.moved', { actor, payload: { reason } }, about, {
        outcome_is_known: true,
      })
    return
  }
  const attempt = task.run_ids.length + 1
  const agent_id = ids.taskAgent(task_id, attempt)
  const problem = prepared.get(`${task_id} ${task.run_ids.length}`)
  const settled = op === 'resume' ? (state.agents.get(task.agent_id ?? '')?.facts ?? []) : []
  if (op === 'assign')
    batch.move('task', task_id, 'assign', 'plan.task_assigned', { actor, payload: { task_id, agent_id } }, about, {
      dependencies_completed: true,
      condition_holds: conditionHolds(task),
    })
  else if (problem === undefined) batch.move('task', task_id, 'unblock', 'task.moved', { actor, payload: {} }, about)
  spawn(engine, batch, { name: owner, parent_id: goal.agent_id, agent_id, problem })
  if (problem !== undefined) {
    if (op === 'assign')
      batch.move('task', task_id, 'begin', 'plan.task_started', { actor, payload: { task_id } }, about)
    const payload = { reason: `Its agent could not be set up: ${problem}` }
    batch.move('task', task_id, 'fail', 'task.moved', { actor, payload }, about, { outcome_is_known: true })
    return
  }
  const submission = {
    agent: owner,
    input: taskInput(goal, task, inputs, settled),
    mode: config.mode,
    ...(config.task_budget === null ? {} : { budget: config.task_budget }),
  }
  const behalf = { actor, goal_id: goal.goal_id, task_id, allowed_tools: tools }
  openRun(batch, ids.taskRun(task_id, attempt), agent_id, submission, behalf)
  brief(desk, notesFor(goal, task.planned), { run_id: ids.taskRun(task_id, attempt), agent_id, task_id })
}

/** Tells a run what the critic found. The rune is internal, as the critique that it quotes. */
export function brief({ batch, goal }: Desk, notes: readonly string[], about: Concerns) {
  if (notes.length === 0) return
  const said = { actor, payload: { text: briefOf(notes) }, visibility: 'internal' as const }
  batch.say('run.briefed', said, { ...about, goal_id: goal.goal_id })
}

function conditionHolds({ condition }: TaskView): boolean {
  return condition === null || condition.decided?.holds === true
}

function askReview(desk: Desk, task: TaskView) {
  const { batch, ids, goal } = desk
  const { planned } = task
  const { task_id, key, title, description } = planned
  const about = aboutGoal(desk, task_id)
  const interaction_id = ids.question(task_id)
  const payload = { task_id, agent_id: 'human' }
  batch.move('task', task_id, 'assign', 'plan.task_assigned', { actor, payload }, about, {
    dependencies_completed: true,
    condition_holds: conditionHolds(task),
  })
  batch.move('task', task_id, 'begin', 'plan.task_started', { actor, payload: { task_id } }, about)
  const reason = 'It waits for a person to review it.'
  batch.move('task', task_id, 'block', 'task.moved', { actor, payload: { reason } }, about)
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
  batch.open(
    'interaction',
    interaction_id,
    'interaction.opened',
    { actor, payload: question },
    { ...about, interaction_id },
  )
}
