import type { ConditionContext, ConditionEngine } from '../../coordinator/rules/condition.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { Json } from '../../kernel/json.ts'
import type { GoalView, PlannedTask, TaskView } from '../../observation/goal-state.ts'
import type { SessionState } from '../../observation/session-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import { type Batch, subject } from '../../runtime/batch.ts'
import type { Engine } from '../../runtime/engine.ts'
import type { GoalConfig } from './goal-config.ts'
import type { GoalIds } from './goal-ids.ts'

/** What the Coordinator made of a draft. */
export type Judgement =
  | { readonly outcome: 'judged'; readonly tasks: readonly PlannedTask[] }
  | { readonly outcome: 'failed'; readonly failure: Json }

/** A draft that is to be judged, and who gave it. A planner may say less than a caller. */
export interface DraftGiven {
  /** Its number, from 1. */
  readonly draft: number
  readonly given: Json
  readonly by: 'caller' | 'planner'
}

/** A rule that is to be evaluated, and what it can see. */
interface Evaluation {
  readonly rule: string
  readonly context: ConditionContext
}

/** What a rule came to, and the engine that says so. */
export interface Evaluated {
  readonly decider: string
  readonly answer: ReturnType<ConditionEngine['evaluate']>
}

/** Something that has to be done outside the log before the loop can decide. It may be done twice. */
export type Errand =
  | ({ readonly errand: 'judge' } & DraftGiven)
  | { readonly errand: 'prepare'; readonly agent: string; readonly key: string }
  | ({ readonly errand: 'evaluate'; readonly task_id: string } & Evaluation)
  | { readonly errand: 'registry'; readonly draft: number }

/** What a decision about a goal is made from, and the append it is written into. */
export interface Desk {
  readonly engine: Engine
  readonly state: SessionState
  readonly goal: GoalView
  readonly config: GoalConfig
  readonly ids: GoalIds
  readonly batch: Batch
  readonly now: number
  /** By draft. */
  readonly judged: ReadonlyMap<number, Judgement>
  /** Agents that were set up for one task, and what was wrong with that. */
  readonly prepared: ReadonlyMap<string, string | undefined>
  /** Conditions that are rules, by their tasks. */
  readonly evaluated: ReadonlyMap<string, Evaluated>
  readonly registry: RegistrySnapshot | undefined
  readonly errands: Errand[]
}

/** The ids that a rune about the goal, or one of its tasks, carries. */
export function aboutGoal({ goal }: Pick<Desk, 'goal'>, task_id?: string): Concerns {
  return task_id === undefined ? { goal_id: goal.goal_id } : { goal_id: goal.goal_id, task_id }
}

/** Only the goal gives it work. */
export function dismiss({ state, batch }: Desk, { agent_id }: Pick<TaskView, 'agent_id'>) {
  if (agent_id === null || batch.stateOf(agent_id) !== 'idle') return
  const stats = { ...state.agents.get(agent_id)?.used } as Record<string, number>
  const payload = { agent_id, reason: 'its task is over', stats }
  batch.on(subject.agent(agent_id), 'scheduler').move('kill', payload, { is_forced: false })
}

/** A planner and a critic look; what changes something is for tasks that were judged. */
export function readOnlyTools({ engine }: Desk, agent: string) {
  const { registry } = engine.agents.get(agent) ?? {}
  return (registry?.names ?? []).filter((name) => registry?.find(name)?.readOnly === true).map((name) => ({ name }))
}
