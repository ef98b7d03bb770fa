import * as z from 'zod'
import type { ConditionContext, ConditionEngine } from '../../coordinator/rules/engine.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { type GoalStop, goalStops } from '../../machines/goal.ts'
import { taskMachine } from '../../machines/task.ts'
import { type GoalView, type PlannedTask, type TaskView, worksFor } from '../../observation/goal-state.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { budget, jsonValue, type RunMode, runModes } from '../../runes/kinds.ts'
import type { Actor, Concerns } from '../../runes/rune.ts'
import { type Batch, createBatch, subject } from '../../runtime/batch.ts'
import { cancelNow } from '../../runtime/commands/session.ts'
import { openRun, spawn } from '../../runtime/commands/submit.ts'
import type { Engine } from '../../runtime/engine.ts'
import { asOptions, type BudgetOptions, budgetOptions } from '../../runtime/options.ts'
import { withdrawQuestions } from '../../runtime/run/closing.ts'
import { closedObject, plainObject } from '../../runtime/shape-problems.ts'
import { approvalDecisions } from '../../wire/interaction.ts'

/** The budget of a goal, for everyone who works for it. Time counts from the moment the goal was set. */
const goalBudget = closedObject({
  ...budget.shape,
  wall_time_ms: z.int().positive().optional(),
  /** How often the goal may be executed and reviewed. */
  iterations: z.int().positive().default(10),
})

/** Everything that decides how a goal goes on, recorded with it. `GoalOptions` says what each field does. */
export const goalConfig = closedObject({
  plan: jsonValue.nullable().default(null),
  planner: z.string().nullable().default(null),
  critic: z.string().nullable().default(null),
  auto: z.boolean().optional(),
  mode: z.enum(runModes).default('interactive'),
  question_budget: z.int().min(0).max(50).optional(),
  budget: goalBudget.prefault({}),
  task_budget: budget.nullable().default(null),
  max_parallel: z.int().positive().default(4),
  per_agent: z.record(z.string(), z.int().positive()).default({}),
  max_drafts: z.int().positive().default(3),
  max_blocked_ms: z.int().positive().nullable().default(null),
  facts: jsonValue.optional(),
  memory: jsonValue.optional(),
})

const { budget: _total, task_budget: _each, ...fields } = goalConfig.shape

/** The config of a goal as a developer writes it. */
export const goalOptions = closedObject({
  ...asOptions(fields),
  budget: plainObject(asOptions(goalBudget.shape)).prefault({}),
  taskBudget: budgetOptions.nullable().default(null),
})

/** How a goal is worked on. A plan, a planner or both are required. Agents are named as they are configured. */
export interface GoalOptions {
  /** A plan: a draft with `tasks`, or a whole execution intent. */
  readonly plan?: Json | null | undefined
  /** The agent that drafts plans. Without it, `plan` is required. */
  readonly planner?: string | null | undefined
  /** The agent that reviews the results. Without it, the goal is met when every task is done. */
  readonly critic?: string | null | undefined
  /** Whether a judged plan starts without a person. Default: only in the mode `auto`. */
  readonly auto?: boolean | undefined
  /**
   * Whether plan and runs may ask people. In `auto` only a review that the plan demands does. Default: `interactive`.
   */
  readonly mode?: RunMode | undefined
  /** How many questions a plan may ask, from 0 to 50. In the mode `auto` it asks none. Default: 10. */
  readonly questionBudget?: number | undefined
  /** The budget of the goal and everyone who works for it, and how often the goal is executed and reviewed. */
  readonly budget?: GoalBudgetOptions | undefined
  /** The budget of each run of a task. Default: none. */
  readonly taskBudget?: BudgetOptions | null | undefined
  /** How many tasks are worked on at once. Default: 4. */
  readonly maxParallel?: number | undefined
  /** How many tasks an agent has at once, by its name. Default: no limit but `maxParallel`. */
  readonly perAgent?: Record<string, number> | undefined
  /** How many drafts the planner may make in all. Default: 3. */
  readonly maxDrafts?: number | undefined
  /** How many milliseconds the goal may be blocked before it is stopped. Null, the default: no limit. */
  readonly maxBlockedMs?: number | null | undefined
  /** The fact pack that plans are judged with. */
  readonly facts?: Json | undefined
  /** The memory pack that plans are judged with. */
  readonly memory?: Json | undefined
}

/** The budget of a goal. Time counts from the moment the goal was set, also while it waits. */
export interface GoalBudgetOptions extends BudgetOptions {
  /** How often the goal may be executed and reviewed. Default: 10. */
  readonly iterations?: number | undefined
}

/** The config of a goal, with its defaults filled in. */
export type GoalConfig = z.output<typeof goalConfig>

/** The config of a goal. It was checked before it was recorded. */
export function configOf({ config }: { readonly config: Readonly<Record<string, Json>> }): GoalConfig {
  const recorded: object = config
  return recorded as GoalConfig
}

/** The result of the Coordinator for a draft. */
export type Judgement =
  | { readonly outcome: 'judged'; readonly tasks: readonly PlannedTask[] }
  | { readonly outcome: 'failed'; readonly failure: Json }

/** A draft to be judged, and its author. A planner may give less than a caller. */
export interface DraftGiven {
  /** The number of the draft, from 1. */
  readonly draft: number
  readonly given: Json
  readonly by: 'caller' | 'planner'
}

/** The value of a rule, and the engine that evaluated it. */
export interface Evaluated {
  readonly decider: string
  readonly answer: ReturnType<ConditionEngine['evaluate']>
}

/** Work outside the log that the loop needs before it can decide. It may be done twice. */
export type Errand =
  | ({ readonly errand: 'judge' } & DraftGiven)
  | { readonly errand: 'prepare'; readonly agent: string; readonly key: string }
  | { readonly errand: 'evaluate'; readonly task_id: string; readonly rule: string; readonly context: ConditionContext }
  | { readonly errand: 'registry'; readonly draft: number }

/** The material of a decision about a goal, and the append that it is written into. */
export interface GoalContext {
  readonly engine: Engine
  readonly state: SessionState
  readonly goal: GoalView
  readonly config: GoalConfig
  readonly ids: GoalIds
  readonly batch: Batch
  readonly now: number
  /** The results of the Coordinator, by the number of the draft. */
  readonly judged: ReadonlyMap<number, Judgement>
  /** The agents that were set up, by their use, and what was wrong with each. */
  readonly prepared: ReadonlyMap<string, string | undefined>
  /** The values of rules, by the tasks that have them as conditions. */
  readonly evaluated: ReadonlyMap<string, Evaluated>
  readonly registry: RegistrySnapshot | undefined
  readonly errands: Errand[]
}

/** The errands that were done for a goal so far. */
type Done = Pick<GoalContext, 'judged' | 'prepared' | 'evaluated' | 'registry' | 'errands'>

/** A context as of now, with an empty batch. */
export function goalContext(engine: Engine, state: SessionState, goal: GoalView, done?: Done): GoalContext {
  const now = engine.clock.now()
  const nothing = { judged: new Map(), prepared: new Map(), evaluated: new Map(), registry: undefined, errands: [] }
  const fixed = { config: configOf(goal), ids: goalIds(goal.goal_id, engine.sha256) }
  return { engine, state, goal, ...fixed, batch: createBatch(state, now), now, ...(done ?? nothing) }
}

/** The ids that a rune about the goal, or one of its tasks, carries. */
export function aboutGoal({ goal }: Pick<GoalContext, 'goal'>, task_id?: string): Concerns {
  return task_id === undefined ? { goal_id: goal.goal_id } : { goal_id: goal.goal_id, task_id }
}

/** Terminates the agent of a task that is over, if it is idle. Only the goal gives it work. */
export function dismiss({ state, batch }: GoalContext, { agent_id }: Pick<TaskView, 'agent_id'>) {
  if (agent_id === null || batch.stateOf(agent_id) !== 'idle') return
  const stats = { ...state.agents.get(agent_id)?.used } as Record<string, number>
  const payload = { agent_id, reason: 'its task is over', stats }
  batch.on(subject.agent(agent_id), 'scheduler').move('kill', payload, { is_forced: false })
}

/** The read-only tools of an agent: all that a planner or a critic gets. Only tasks of a judged plan change something. */
export function readOnlyTools({ engine }: GoalContext, agent: string) {
  const { registry } = engine.agents.get(agent) ?? {}
  return (registry?.names ?? []).filter((name) => registry?.find(name)?.readOnly === true).map((name) => ({ name }))
}

/** Whether an agent is set up for this use. If it is not, setting it up becomes an errand. */
export function isPrepared({ engine, prepared, errands }: GoalContext, agent: string, key: string): boolean {
  if (engine.agents.get(agent)?.prepare === undefined || prepared.has(key)) return true
  errands.push({ errand: 'prepare', agent, key })
  return false
}

/** A run of the critic, and the key that it is set up under. */
type CriticRun = Readonly<Record<'key' | 'run_id' | 'agent_id' | 'input', string>>

/** How often the critic is asked before an answer that cannot be read counts as none. */
export const criticAttempts = 2

/** Opens a run of the critic once it is set up. Its output is internal; the decision that follows from it is public. */
export function openCritic(context: GoalContext, { key, run_id, agent_id, input }: CriticRun) {
  const { engine, batch, goal, config } = context
  const agent = config.critic ?? ''
  if (!isPrepared(context, agent, key)) return
  spawn(engine, batch, { name: agent, parent_id: goal.agent_id, agent_id })
  const rights = { allowed_tools: readOnlyTools(context, agent), visibility: 'internal' as const }
  const behalf = { actor: 'scheduler' as const, goal_id: goal.goal_id, ...rights }
  openRun(batch, { run_id, agent_id }, { agent, input, mode: config.mode }, behalf)
}

/** A question that a person approves or denies, however long that takes. */
export function approvalOf(prompt: string, about: Readonly<Record<string, Json>>) {
  return {
    interaction_kind: 'approval' as const,
    prompt,
    request: { ...about, options: [...approvalDecisions] },
    evidence: [],
    deadline: null,
    on_silence: 'wait' as const,
    digest: null,
  }
}

/** Every id of the loop is a hash of what it names, so a process that repeats a step after a crash finds it done. */
export function goalIds(goal_id: string, sha256: Sha256) {
  const name = (prefix: string, ...parts: readonly Json[]) =>
    `${prefix}_${sha256(canonicalJson([goal_id, prefix, ...parts])).slice(0, 16)}`
  return {
    head: () => name('agt', 'head'),
    plan: (draft: number) => name('pln', draft),
    coordination: (draft: number) => name('coord', draft),
    plannerRun: (draft: number) => name('run', 'plan', draft),
    criticRun: (critique: number, attempt: number) => name('run', 'critic', critique, attempt),
    criticAgent: (critique: number, attempt: number) => name('agt', 'critic', critique, attempt),
    task: (plan_id: string, key: string, attempt: number) => name('tsk', plan_id, key, attempt),
    taskRun: (task_id: string, attempt: number) => name('run', task_id, attempt),
    taskAgent: (task_id: string, attempt: number) => name('agt', task_id, attempt),
    conditionRun: (task_id: string, attempt: number) => name('run', 'condition', task_id, attempt),
    conditionAgent: (task_id: string, attempt: number) => name('agt', 'condition', task_id, attempt),
    conditionQuestion: (task_id: string) => name('int', 'condition', task_id),
    question: (about: string) => name('int', about),
  }
}

/** The ids that a goal derives for its parts. */
export type GoalIds = ReturnType<typeof goalIds>

/** Ends a goal and everything under way for it in one append. Questions about unknown outcomes outlive it. */
export function stopGoal(context: GoalContext, cause: GoalStop, reason: string, actor: Actor) {
  const { batch, goal, ids, state: session } = context
  // Expect the version of a coordination under way: questions that it records first are withdrawn, too.
  const judging = ids.coordination(goal.drafts.length + 1)
  if (session.subjects.has(judging)) batch.restOn(judging)
  withdrawQuestions(batch, ({ goal_id }) => goal_id === goal.goal_id, { reason, actor })
  for (const { planned, state } of goal.tasks) {
    if (isTerminal(taskMachine, state)) continue
    batch.on(subject.task(context.goal.goal_id, planned.task_id), actor).move('cancel', { reason })
  }
  stopRuns(context, reason, actor)
  batch.on(subject.goal(goal.goal_id), actor).move(goalStops[cause].on, { reason, cause })
}

function stopRuns({ engine, state, goal, batch }: GoalContext, reason: string, actor: Actor) {
  for (const run of state.openRuns.values()) {
    if (run.cancel !== null || run.parent_call_id !== null || !worksFor(state, goal, run.agent_id)) continue
    if (run.status !== 'running') cancelNow(engine, batch, run, { reason, actor })
    else batch.on(subject.run(run), actor).move('request', { request: 'cancel', reason })
  }
}
