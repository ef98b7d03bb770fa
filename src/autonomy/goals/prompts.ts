import { isUsable } from '../../coordinator/registry.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { Json } from '../../kernel/json.ts'
import type { TaskState } from '../../machines/task.ts'
import type { GoalView, PlannedTask, TaskView } from '../../observation/goal-state.ts'
import { quoted, untrustedNotice } from '../../runtime/model.ts'
import { latestTasks } from './critique.ts'
import type { Schedule } from './schedule.ts'

const draftShape =
  '{"title"?, "tasks": [{"id", "command", "intent", "owner"?, "depends_on"?: [ids], "priority"?: critical|high|medium|low, "instead_of"?: id, "condition"?: words, or "rule: " and a Cedar expression over context.tasks.ID.state|result|json}], "risk"?: {"requires_review"?: [..]}}'

/** The input of the planner: the goal, the usable commands and agents, and why the last draft was refused. */
export function plannerInput(goal: GoalView, { entries }: RegistrySnapshot): string {
  const usable = entries.filter(isUsable)
  const commands = usable
    .filter((entry) => entry.kind === 'command')
    .map(({ id, title, effects, risk_level }) => `- ${id}: ${title} (${effects.join(', ')}; risk ${risk_level})`)
  const agents = usable
    .filter((entry) => entry.kind === 'agent')
    .map(({ id, title, roles }) => `- ${id}: ${title} (${roles.join(', ')})`)
  const failure = goal.drafts.at(-1)?.failure ?? null
  return paragraphs(
    `Draft a plan for this goal: ${goal.goal_description}`,
    `Commands that a task may use:\n${commands.join('\n')}`,
    `Agents that may own a task:\n${agents.join('\n')}`,
    `Answer with one JSON object and nothing else: ${draftShape}`,
    failure === null ? '' : `The last draft was not accepted: ${JSON.stringify(failure)}`,
    goal.revise === null ? '' : `The last plan has to be revised. ${untrustedNotice}\n${listOf([goal.revise])}`,
  )
}

/** The critic's findings for the agent that repeats the work. The text is internal, as the critique is. */
export function briefOf(notes: readonly string[]): string {
  return `It was done before, and this was found. ${untrustedNotice}\n${listOf(notes)}`
}

/** The limit of all results in the input of a task, in characters. */
const inputsLimit = 60_000

/** The input of a task: the task, its goal and the results that it builds on. */
export function taskInput(goal: GoalView, { planned }: TaskView, inputs: Inputs, settled: readonly string[]): string {
  const lines = linesOf(inputs)
  return paragraphs(
    `Task ${planned.key}: ${planned.description || planned.title}`,
    `It is part of this goal: ${goal.goal_description}`,
    lines.length === 0 ? '' : `What it builds on. ${untrustedNotice}\n${lines.join('\n')}`,
    settled.length === 0
      ? ''
      : `An earlier attempt ended because it was unknown whether something had happened. That is settled. ${untrustedNotice}\n${listOf(settled)}`,
  )
}

/** The input of the critic that decides the condition of a task. */
export function conditionInput(goal: GoalView, task: PlannedTask, inputs: Inputs, problem: string | undefined): string {
  const { key, description, condition } = task
  const lines = linesOf(inputs)
  return paragraphs(
    `Decide whether the condition of the task ${key} holds. ${untrustedNotice}\nCondition: ${quoted(condition ?? '')}\nTask: ${quoted(description)}`,
    problem === undefined ? '' : quoted(problem),
    `It is part of this goal: ${goal.goal_description}`,
    lines.length === 0 ? '' : `What came before.\n${lines.join('\n')}`,
    'Answer with one JSON object and nothing else: {"holds": true|false|null, "reason"}. Null: it cannot be decided from this.',
  )
}

/** The input of the critic that reviews the results of a goal. */
export function criticInput(goal: GoalView): string {
  const tasks = [...latestTasks(goal).values()].filter(({ planned }) => planned.kind === 'work')
  const lines = tasks.map(({ planned, state, result, reason, evidence }) => {
    const outcome = quoted(state === 'completed' ? textOf(result) : (reason ?? ''))
    const events = evidence.length === 0 ? '' : ` [events ${evidence.join(', ')}]`
    return `- ${planned.key} (${quoted(planned.description)}): ${state}. ${outcome}${events}`
  })
  return paragraphs(
    `Examine whether this goal is met: ${goal.goal_description}`,
    `Tasks and what they came to. ${untrustedNotice}\n${lines.join('\n')}`,
    'Answer with one JSON object and nothing else: {"summary", "needs_replan"?: boolean, "findings": [{"severity": error|warning|suggestion|info, "category": correctness|security|performance|style|completeness, "title", "description", "evidence": [..], "task": the task it is about or null, "suggested_fix"?}]}. No findings: the goal is met. The summary is public once the goal is met; the findings are internal.',
  )
}

/** One quoted line for each input. Each gets an equal share of the limit, so a long one displaces no other. */
export function linesOf(inputs: Inputs): readonly string[] {
  const most = Math.floor(inputsLimit / Math.max(1, inputs.length))
  return inputs.map(({ task, instead_of, state, result, reason }) => {
    const name = instead_of === null ? task : `${task}, instead of ${instead_of}`
    if (state === 'completed') return `- ${name}: ${cut(textOf(result), most)}`
    return `- ${task} ${state === 'skipped' ? 'was skipped' : state}: ${cut(reason ?? '', most)}`
  })
}

/** Quotes at most this many characters. A text that is cut says so. */
function cut(text: string, most: number): string {
  if (text.length <= most) return quoted(text)
  const shown = text.slice(0, most).toWellFormed()
  return `${quoted(shown)} [cut: the first ${shown.length} of ${text.length} characters]`
}

const listOf = (texts: readonly string[]) => texts.map((text) => `- ${quoted(text)}`).join('\n')

/** A value as text for a prompt. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n')
}

/** The state, result and reason of a task. The result of a task that did not complete is null. */
export interface Outcome {
  readonly state: TaskState
  readonly result: Json
  readonly reason: string | null
}

/** The outcome of each task, by its id. */
export type Outcomes = (task_id: string) => Outcome

/** The outcomes that a task builds on. `instead_of`: the key of the task that this task replaced. */
export type Inputs = readonly Input[]
type Input = Outcome & { readonly task: string; readonly instead_of: string | null }

/** The outcome of each task after these operations: a task may complete and its dependent begin in one append. */
export function outcomesOf(tasks: readonly TaskView[], { ops, states }: Schedule): Outcomes {
  const known = new Map(
    tasks.map(({ planned, state, result, reason }): [string, Outcome] => [
      planned.task_id,
      { state: states.get(planned.task_id) ?? state, result, reason },
    ]),
  )
  for (const op of ops) {
    const before = known.get(op.task_id)
    if (before === undefined) continue
    if (op.op === 'complete') known.set(op.task_id, { ...before, result: op.result })
    else if ('reason' in op) known.set(op.task_id, { ...before, reason: op.reason })
  }
  return (task_id) => known.get(task_id) ?? { state: 'cancelled', result: null, reason: null }
}

/** The tasks that a task builds on, also through reviews. A failed task is followed by its stand-in, and vice versa. */
export function inputsOf(tasks: readonly TaskView[], { depends_on }: PlannedTask, outcomeOf: Outcomes): Inputs {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const found = new Map<string, Input>()
  const seen = new Set<string>()
  const look = (task_id: string) => {
    const planned = byId.get(task_id)
    if (planned === undefined || seen.has(task_id)) return
    seen.add(task_id)
    if (planned.kind === 'review') {
      for (const before of planned.depends_on) look(before)
      return
    }
    const outcome = outcomeOf(task_id)
    const instead_of = planned.instead_of === null ? null : (byId.get(planned.instead_of)?.key ?? null)
    found.set(task_id, { task: planned.key, instead_of, ...outcome })
    if (outcome.state === 'completed') return
    if (planned.instead_of !== null && outcome.state === 'skipped') look(planned.instead_of)
    for (const other of byId.values()) if (other.instead_of === task_id) look(other.task_id)
  }
  for (const before of depends_on) look(before)
  return [...found.values()]
}
