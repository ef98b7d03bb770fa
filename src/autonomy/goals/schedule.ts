import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { type TaskState, taskMachine } from '../../machines/task.ts'
import { hasPlace, type PlannedTask, priorities } from '../../observation/goal-state.ts'
import { type Gates, gatesOf, type Standing, standings } from './standing.ts'

/** What is known about a task: where it is, and what its run or its question came to. */
export interface TaskFacts {
  readonly planned: PlannedTask
  readonly state: TaskState
  readonly run: RunFacts | null
  readonly question: QuestionFacts | null
  /** Null: it has no condition. */
  readonly condition: ConditionFacts | null
}

interface ConditionFacts {
  /** Null: nothing is decided yet. */
  readonly decided: { readonly holds: boolean | null; readonly reason: string } | null
  /** Who is being asked. Null: no question is open. */
  readonly asks: 'critic' | 'person' | null
}

/** What the schedule knows about the run of a task. */
export interface RunFacts {
  readonly status: string
  readonly result: Json
  readonly error_code: string | null
  readonly message: string | null
  /** It ended over an unknown outcome, which is not settled yet. */
  readonly is_unsettled: boolean
}

/** What the schedule knows about a question. */
export interface QuestionFacts {
  readonly outcome: 'open' | 'approved' | 'denied'
  readonly reason: string
}

type Limits = {
  readonly max_parallel: number
  readonly per_agent: Readonly<Record<string, number>>
  /** The session takes turns; while it is paused or suspended nothing is given out. */
  readonly is_active: boolean
}

/** One thing to record about a task, and why. */
export type Op =
  | { readonly op: 'begin' | 'unblock' | 'pass' | 'decide' | 'assign' | 'ask' | 'resume'; readonly task_id: string }
  | { readonly op: 'complete'; readonly task_id: string; readonly result: Json }
  | { readonly op: 'fail' | 'block' | 'skip'; readonly task_id: string; readonly reason: string }

/** What to do next, and where every task then is. */
export interface Schedule {
  readonly ops: readonly Op[]
  /** Where every task is once they are recorded. */
  readonly states: ReadonlyMap<string, TaskState>
  /** Some task is worked on, or will be without anyone's help. */
  readonly is_moving: boolean
}

/** First what runs and questions came to, then what can never run, then what begins, by priority and age. Pure. */
export function schedule(tasks: readonly TaskFacts[], limits: Limits): Schedule {
  const states = new Map(tasks.map(({ planned, state }) => [planned.task_id, state]))
  const ops: Op[] = []
  const record = (op: Op, to: TaskState) => {
    ops.push(op)
    states.set(op.task_id, to)
  }
  for (const task of tasks) for (const [op, to] of outcomeOf(task)) record(op, to)
  skipLost(tasks, states, record)
  if (limits.is_active) {
    assign(tasks, states, limits, record)
    skipStuck(tasks, states, record)
  }
  const is_moving = tasks.some(({ planned, run, condition }) => {
    const state = states.get(planned.task_id) ?? 'pending'
    if (isActive(state)) return limits.is_active || run?.status === 'running'
    return limits.is_active && state === 'pending' && condition?.decided === null && condition.asks === 'critic'
  })
  return { ops, states, is_moving: is_moving || ops.some(({ op }) => op === 'decide') }
}

const isActive = (state: TaskState) => state === 'assigned' || state === 'running'

/** What the run or the question of a task makes of it. */
function outcomeOf(task: TaskFacts): readonly [Op, TaskState][] {
  const { planned, state, run, question } = task
  const { task_id } = planned
  if (isTerminal(taskMachine, state) || state === 'pending') return []
  if (question !== null) {
    if (question.outcome === 'approved') return [[{ op: 'pass', task_id }, 'completed']]
    return question.outcome === 'denied' ? [[{ op: 'fail', task_id, reason: question.reason }, 'failed']] : []
  }
  if (run === null) return []
  const begun: [Op, TaskState][] =
    state === 'assigned' && run.status !== 'queued' ? [[{ op: 'begin', task_id }, 'running']] : []
  const freed: [Op, TaskState][] = state === 'blocked' ? [[{ op: 'unblock', task_id }, 'running']] : []
  switch (run.status) {
    case 'queued':
    case 'running':
      return [...begun, ...freed]
    case 'waiting_user':
      if (state === 'blocked') return []
      return [...begun, [{ op: 'block', task_id, reason: 'Its run waits for a person.' }, 'blocked']]
    case 'succeeded':
      return [...begun, ...freed, [{ op: 'complete', task_id, result: run.result }, 'completed']]
    default:
      return failed(task, run, begun, freed)
  }
}

/** An unknown outcome blocks the task until a person settles it; then a new run goes on. */
function failed(
  { planned: { task_id }, state }: TaskFacts,
  run: RunFacts,
  begun: readonly [Op, TaskState][],
  freed: readonly [Op, TaskState][],
): readonly [Op, TaskState][] {
  const reason = run.message ?? run.error_code ?? `Its run was ${run.status}.`
  if (run.error_code !== 'OUTCOME_UNKNOWN') return [...begun, ...freed, [{ op: 'fail', task_id, reason }, 'failed']]
  if (state !== 'blocked') return [...begun, [{ op: 'block', task_id, reason }, 'blocked']]
  return run.is_unsettled ? [] : [[{ op: 'resume', task_id }, 'running']]
}

type Note = (op: Op, to: TaskState) => void

/** Skips the tasks that can never run, and those that depend on them, until nothing changes. */
function skipLost(tasks: readonly TaskFacts[], states: ReadonlyMap<string, TaskState>, record: Note) {
  const gates = gatesOf(tasks)
  for (let found = true; found; ) {
    found = false
    const standing = standings(tasks.map(placed), states)
    for (const task of tasks) {
      const { planned } = task
      if (states.get(planned.task_id) !== 'pending') continue
      const reason = whyRefused(task) ?? whyNever(tasks, planned, { states, standing, gates })
      if (reason === undefined) continue
      record({ op: 'skip', task_id: planned.task_id, reason }, 'skipped')
      found = true
    }
  }
}

/** Tasks may wait for each other by way of a stand-in. Where nothing moves and no person is asked, they are skipped. */
function skipStuck(tasks: readonly TaskFacts[], states: ReadonlyMap<string, TaskState>, record: Note) {
  const left = [...states].filter(([, state]) => !isTerminal(taskMachine, state))
  if (left.some(([, state]) => state !== 'pending')) return
  const standing = standings(tasks.map(placed), states)
  // What can begin once its condition is decided, or once there is a place, is not stuck.
  if (runnable(tasks, states, standing).length > 0) return
  for (const [task_id] of left)
    record({ op: 'skip', task_id, reason: 'What it depends on waits for it in turn.' }, 'skipped')
}

function whyRefused({ condition }: TaskFacts): string | undefined {
  const decided = condition?.decided
  if (decided == null || decided.holds === true) return undefined
  return `Its condition ${decided.holds === null ? 'could not be decided' : 'does not hold'}: ${decided.reason}`
}

/** A task with the value of its condition. */
export const placed = ({ planned, condition }: Pick<TaskFacts, 'planned'> & { condition: Decision }) => ({
  planned,
  holds: condition?.decided?.holds ?? null,
})

type Decision = { readonly decided: { readonly holds: boolean | null } | null } | null

interface Situation {
  readonly states: ReadonlyMap<string, TaskState>
  readonly standing: (task_id: string) => Standing
  readonly gates: Gates
}

function whyNever(
  tasks: readonly TaskFacts[],
  { task_id: own, depends_on, needs, instead_of }: PlannedTask,
  { states, standing, gates }: Situation,
): string | undefined {
  const named = (task_id: string) => tasks.find(({ planned }) => planned.task_id === task_id)?.planned.key ?? task_id
  if (instead_of !== null && states.get(instead_of) === 'completed')
    return `It is not needed: ${named(instead_of)} completed.`
  // A stand-in is for what failed. One that was itself not needed, or not taken, did not fail.
  if (instead_of !== null && standing(instead_of) === 'met')
    return `It is not needed, and neither is ${named(instead_of)}.`
  if (instead_of !== null && standing(instead_of) === 'void')
    return `It is not needed: ${named(instead_of)} was skipped because of its condition.`
  const lost = depends_on.find((task_id) => standing(task_id) === 'lost')
  if (lost !== undefined) return `It depends on ${named(lost)}, which ${states.get(lost) ?? 'is gone'}.`
  const behind = gates.behind(own)
  if (behind !== undefined && states.get(behind.task_id) === 'skipped')
    return `It is not needed: ${behind.key} was skipped.`
  const needed = gates.through(needs, 'needs')
  if (needed.length === 0 || !needed.every((task_id) => standing(task_id) === 'void')) return undefined
  return `All that it depends on was skipped because of a condition: ${needed.map(named).join(', ')}.`
}

function assign(tasks: readonly TaskFacts[], states: ReadonlyMap<string, TaskState>, limits: Limits, record: Note) {
  const standing = standings(tasks.map(placed), states)
  const busy = tasks.flatMap(({ planned: { owner, task_id } }) =>
    owner !== null && isActive(states.get(task_id) ?? 'pending') ? [owner] : [],
  )
  for (const { planned, condition } of runnable(tasks, states, standing)) {
    const { task_id, owner } = planned
    if (condition?.decided === null) {
      if (condition.asks === null) record({ op: 'decide', task_id }, 'pending')
      continue
    }
    if (owner === null) {
      record({ op: 'ask', task_id }, 'blocked')
      continue
    }
    if (!hasPlace(limits, busy, owner)) continue
    busy.push(owner)
    record({ op: 'assign', task_id }, 'assigned')
  }
}

/** The tasks that one still waits for, by their keys: a dependency counts once it is met or void. */
export function waitsFor(
  tasks: readonly Waiting[],
  stateOf: (task_id: string) => TaskState | undefined,
  { depends_on }: PlannedTask,
): readonly string[] {
  const states = new Map(tasks.map(({ planned, state }) => [planned.task_id, stateOf(planned.task_id) ?? state]))
  const standing = standings(tasks.map(placed), states)
  return tasks.flatMap(({ planned: { task_id, key } }) =>
    depends_on.includes(task_id) && !isClear(standing(task_id)) ? [key] : [],
  )
}

type Waiting = Pick<TaskFacts, 'planned' | 'state'> & { readonly condition: Decision }

const isClear = (standing: Standing) => standing === 'met' || standing === 'void'

/** What can begin, urgent and then old ones first. A condition is decided before the gate of its task is asked. */
function runnable(
  tasks: readonly TaskFacts[],
  states: ReadonlyMap<string, TaskState>,
  standing: (task_id: string) => Standing,
): readonly TaskFacts[] {
  const gates = gatesOf(tasks)
  const undecided = new Set(
    tasks.flatMap(({ planned, condition }) => (condition?.decided === null ? [planned.task_id] : [])),
  )
  return tasks
    .filter(({ planned: { task_id, depends_on, instead_of } }) => {
      if (states.get(task_id) !== 'pending' || undecided.has(gates.behind(task_id)?.task_id ?? '')) return false
      const before = undecided.has(task_id) ? gates.through(depends_on, 'depends_on') : depends_on
      if (!before.every((id) => isClear(standing(id)))) return false
      return instead_of === null || isTerminal(taskMachine, states.get(instead_of) ?? 'pending')
    })
    .map((task, age) => ({ task, age, rank: priorities.indexOf(task.planned.priority) }))
    .sort((a, b) => a.rank - b.rank || a.age - b.age)
    .map(({ task }) => task)
}
