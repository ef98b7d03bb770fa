import type { Json } from '../../kernel/json.ts'
import { isTerminal, stateOf } from '../../kernel/machine.ts'
import { type TaskState, taskMachine } from '../../machines/task.ts'
import { hasPlace, type PlannedTask, priorities, type TaskView } from '../../observation/goal-state.ts'
import type { RunView } from '../../observation/session-state.ts'

/** The facts about a task: its state, its run, its question and its condition. */
export interface TaskFacts {
  readonly planned: PlannedTask
  readonly state: TaskState
  readonly run: RunFacts | null
  readonly question: QuestionFacts | null
  /** Null: the task has no condition. */
  readonly condition: ConditionFacts | null
}

interface ConditionFacts {
  /** Null: nothing is decided yet. */
  readonly decided: { readonly holds: boolean | null; readonly reason: string } | null
  /** The decider that is being asked. Null: no question is open. */
  readonly asks: 'critic' | 'person' | null
}

/** The facts about the run of a task. */
export interface RunFacts extends Pick<RunView, 'status' | 'result' | 'error_code' | 'message'> {
  /** Whether the run ended over an unknown outcome that is not settled yet. */
  readonly is_unsettled: boolean
}

/** The facts about a question. */
export interface QuestionFacts {
  readonly outcome: 'open' | 'approved' | 'denied'
  readonly reason: string
}

type Limits = {
  readonly max_parallel: number
  readonly per_agent: Readonly<Record<string, number>>
  /** Whether the session takes turns. While it is paused or suspended, no task is given out. */
  readonly is_active: boolean
}

/** One thing to record about a task, and why. */
export type Op =
  | { readonly op: 'begin' | 'unblock' | 'pass' | 'decide' | 'assign' | 'ask' | 'resume'; readonly task_id: string }
  | { readonly op: 'complete'; readonly task_id: string; readonly result: Json }
  | { readonly op: 'fail' | 'block' | 'skip'; readonly task_id: string; readonly reason: string }

/** The next operations, and the states of all tasks after them. */
export interface Schedule {
  readonly ops: readonly Op[]
  /** The state of every task once the operations are recorded. */
  readonly states: TaskStates
  /** Whether some task is worked on, or will be without a person. */
  readonly is_moving: boolean
}

/** First come outcomes of runs and questions, then tasks that can never run, then assignments by priority and age. */
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

/** Whether the task is given to an agent, not over and not blocked. */
function isActive(state: TaskState): boolean {
  const { terminal, resumable } = stateOf(taskMachine, state) ?? {}
  return state !== taskMachine.initial && !terminal && !resumable
}

type Step = readonly [Op, TaskState]

/** The moves of a task that follow from its run or its question. */
function outcomeOf({ planned: { task_id }, state, run, question }: TaskFacts): readonly Step[] {
  if (isTerminal(taskMachine, state) || state === 'pending') return []
  if (question !== null) {
    if (question.outcome === 'approved') return [[{ op: 'pass', task_id }, 'completed']]
    return question.outcome === 'denied' ? [[{ op: 'fail', task_id, reason: question.reason }, 'failed']] : []
  }
  if (run === null) return []
  const begun: Step[] = state === 'assigned' && run.status !== 'queued' ? [[{ op: 'begin', task_id }, 'running']] : []
  const active: Step[] = state === 'blocked' ? [[{ op: 'unblock', task_id }, 'running']] : begun
  const blocked = (reason: string): Step[] =>
    state === 'blocked' ? [] : [...begun, [{ op: 'block', task_id, reason }, 'blocked']]
  if (run.status === 'queued' || run.status === 'running') return active
  if (run.status === 'waiting_user') return blocked('Its run waits for a person.')
  if (run.status === 'succeeded') return [...active, [{ op: 'complete', task_id, result: run.result }, 'completed']]
  const reason = run.message ?? run.error_code ?? `Its run was ${run.status}.`
  if (run.error_code !== 'OUTCOME_UNKNOWN') return [...active, [{ op: 'fail', task_id, reason }, 'failed']]
  // An unknown outcome blocks the task until it is settled; then a new run continues the task.
  return state === 'blocked' && !run.is_unsettled ? [[{ op: 'resume', task_id }, 'running']] : blocked(reason)
}

type Note = (op: Op, to: TaskState) => void

/** Skips the tasks that can never run, and those that depend on them, until nothing changes. */
function skipLost(tasks: readonly TaskFacts[], states: TaskStates, record: Note) {
  const gates = gatesOf(tasks)
  for (let found = true; found; ) {
    found = false
    const standing = standings(tasks, states)
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

/** Skips tasks that wait for each other through a stand-in: every task left is pending, and none can begin. */
function skipStuck(tasks: readonly TaskFacts[], states: TaskStates, record: Note) {
  const left = [...states].filter(([, state]) => !isTerminal(taskMachine, state))
  if (left.some(([, state]) => state !== 'pending')) return
  const standing = standings(tasks, states)
  // A task that waits only for its condition or for a place is not stuck.
  if (runnable(tasks, states, standing).length > 0) return
  for (const [task_id] of left)
    record({ op: 'skip', task_id, reason: 'What it depends on waits for it in turn.' }, 'skipped')
}

function whyRefused({ condition }: TaskFacts): string | undefined {
  const decided = condition?.decided
  if (decided == null || decided.holds === true) return undefined
  return `Its condition ${decided.holds === null ? 'could not be decided' : 'does not hold'}: ${decided.reason}`
}

type Situation = { readonly states: TaskStates; readonly standing: Standings; readonly gates: Gates }

function whyNever(tasks: readonly TaskFacts[], planned: PlannedTask, situation: Situation): string | undefined {
  const { task_id: own, depends_on, needs, instead_of } = planned
  const { states, standing, gates } = situation
  const named = (task_id: string) => tasks.find(({ planned }) => planned.task_id === task_id)?.planned.key ?? task_id
  if (instead_of !== null && states.get(instead_of) === 'completed')
    return `It is not needed: ${named(instead_of)} completed.`
  // A stand-in is for a task that failed. A stand-in that was not needed, or not taken, did not fail.
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

function assign(tasks: readonly TaskFacts[], states: TaskStates, limits: Limits, record: Note) {
  const standing = standings(tasks, states)
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

/** The keys of the dependencies that a task still waits for: those that are neither met nor void. */
export function waitsFor(tasks: readonly TaskView[], { depends_on }: PlannedTask, stateOf: StateOf): readonly string[] {
  const states = new Map(tasks.map(({ planned, state }) => [planned.task_id, stateOf(planned.task_id) ?? state]))
  const standing = standings(tasks, states)
  return tasks.flatMap(({ planned: { task_id, key } }) =>
    depends_on.includes(task_id) && !isClear(standing(task_id)) ? [key] : [],
  )
}

type StateOf = (task_id: string) => TaskState | undefined

const isClear = (standing: Standing) => standing === 'met' || standing === 'void'

/** The tasks that can begin, by priority and age. A condition is decided before the gate of its task is asked. */
function runnable(tasks: readonly TaskFacts[], states: TaskStates, standing: Standings): readonly TaskFacts[] {
  const gates = gatesOf(tasks)
  const undecided = new Set(tasks.filter(({ condition }) => condition?.decided === null).map(idOf))
  return tasks
    .filter(({ planned: { task_id, depends_on, instead_of } }) => {
      if (states.get(task_id) !== 'pending' || undecided.has(gates.behind(task_id)?.task_id ?? '')) return false
      const before = undecided.has(task_id) ? gates.through(depends_on, 'depends_on') : depends_on
      if (!before.every((id) => isClear(standing(id)))) return false
      return instead_of === null || isTerminal(taskMachine, states.get(instead_of) ?? 'pending')
    })
    .sort((a, b) => priorities.indexOf(a.planned.priority) - priorities.indexOf(b.planned.priority))
}

const idOf = ({ planned }: Pick<TaskFacts, 'planned'>) => planned.task_id

/** The effect on dependents: done, never to be done, not taken because of a condition, or still to come. */
type Standing = 'met' | 'lost' | 'void' | 'open'

/** The standing of each task, by its id. */
type Standings = (task_id: string) => Standing

/** The state of each task, by its id. */
type TaskStates = ReadonlyMap<string, TaskState>

/** The part of a task that matters to its dependents. */
interface Placed extends Pick<TaskFacts, 'planned'> {
  readonly condition: { readonly decided: { readonly holds: boolean | null } | null } | null
}

/** Met: the task completed, its stand-in is met, or it is a stand-in not needed. Void: a condition excluded it. */
export function standings(tasks: readonly Placed[], states: TaskStates): Standings {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const refused = new Set(tasks.filter((task) => task.condition?.decided?.holds === false).map(idOf))
  const gates = gatesOf(tasks)
  const standIns = new Map<string, string>()
  for (const { planned } of tasks) if (planned.instead_of !== null) standIns.set(planned.instead_of, planned.task_id)
  const known = new Map<string, Standing>()

  function standing(task_id: string): Standing {
    const remembered = known.get(task_id)
    if (remembered !== undefined) return remembered
    // A task that stands in for itself, in however many steps, is never met.
    known.set(task_id, 'lost')
    const found = look(task_id)
    known.set(task_id, found)
    return found
  }

  function look(task_id: string): Standing {
    const state = states.get(task_id)
    if (state === undefined) return 'lost'
    if (state === 'completed') return 'met'
    if (!isTerminal(taskMachine, state)) return 'open'
    const planned = byId.get(task_id)
    const primary = planned?.instead_of ?? null
    if (primary !== null && states.get(primary) === 'completed') return 'met'
    if (primary !== null && state === 'skipped' && standing(primary) === 'met') return 'met'
    if (state === 'skipped' && planned !== undefined && isVoid(planned)) return 'void'
    const standIn = standIns.get(task_id)
    const instead = standIn === undefined ? 'lost' : standing(standIn)
    // A stand-in that is not taken replaces nothing.
    return instead === 'void' ? 'lost' : instead
  }

  function isVoid({ task_id, depends_on, needs, instead_of }: PlannedTask): boolean {
    if (refused.has(task_id)) return true
    if (depends_on.some((id) => standing(id) === 'lost')) return false
    const behind = gates.behind(task_id)
    if (behind !== undefined && states.get(behind.task_id) === 'skipped') return true
    const needed = gates.through(needs, 'needs')
    if (needed.length > 0 && needed.every((id) => standing(id) === 'void')) return true
    return instead_of !== null && standing(instead_of) === 'void'
  }
  return standing
}

/** Relates the tasks of a plan to their gates. */
interface Gates {
  /** The task with a condition whose gate this review is. Undefined: its task has no condition, or it has no task. */
  behind(gate_id: string): PlannedTask | undefined
  /** These tasks, with each gate replaced by the tasks before it. */
  through(task_ids: readonly string[], field: 'depends_on' | 'needs'): readonly string[]
}

/** The gate of a task is the review of its step alone. A gate with a condition of its own (older plans) has no task. */
export function gatesOf(tasks: readonly { readonly planned: PlannedTask }[]): Gates {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const isGate = (task_id: string) => {
    const found = byId.get(task_id)
    return found?.kind === 'review' && found.condition === null
  }
  /** A stand-in begins behind the gate of the task that it replaces; the gate still belongs to that task. */
  const isInherited = ({ instead_of }: PlannedTask, gate_id: string) =>
    byId.get(instead_of ?? '')?.needs.includes(gate_id) === true
  const behind = new Map(
    tasks.flatMap(({ planned }) =>
      planned.condition === null
        ? []
        : planned.needs
            .filter((gate_id) => isGate(gate_id) && !isInherited(planned, gate_id))
            .map((gate_id) => [gate_id, planned] as const),
    ),
  )
  return {
    behind: (gate_id) => behind.get(gate_id),
    through: (task_ids, field) =>
      task_ids.flatMap((task_id) => (behind.has(task_id) ? (byId.get(task_id)?.[field] ?? []) : [task_id])),
  }
}
