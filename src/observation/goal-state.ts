import type { Json } from '../kernel/json.ts'
import type { GoalState, GoalStop } from '../machines/goal.ts'
import type { TaskState } from '../machines/task.ts'
import type { Payload } from '../runes/kinds.ts'
import type { CritiqueReport } from '../wire/goal.ts'

/** The priorities of tasks, the most urgent first. */
export const priorities = ['critical', 'high', 'medium', 'low'] as const

/** The priority of a task. */
export type Priority = (typeof priorities)[number]

/** One tool that a task may use, and a JSON Schema that its arguments must fit in addition to the tool's own. */
export type AllowedTool = NonNullable<Payload<'run.submitted'>['allowed_tools']>[number]

/** A task as its plan has it. It does not change; a retry is another task, linked to this one. */
export type PlannedTask = {
  readonly task_id: string
  /** The step of the plan that it executes. A retry has the key of the task that it retries. */
  readonly key: string
  /** Work is a run of an agent; a review is a question to a person. */
  readonly kind: 'work' | 'review'
  readonly title: string
  readonly description: string
  readonly priority: Priority
  /** The agent that does it, by its name in the configuration. Null: a person. */
  readonly owner: string | null
  readonly depends_on: readonly string[]
  /** The `depends_on` that the plan names as its dependencies. The others only come before it. */
  readonly needs: readonly string[]
  /** It is done only if this holds: `rule:` and an expression, or words. Null: without a condition. */
  readonly condition: string | null
  /** It is done only if that task fails, and then replaces it. */
  readonly instead_of: string | null
  readonly command_id: string | null
  /** All that its run may use. */
  readonly tools: readonly AllowedTool[]
  readonly retries: string | null
}

/** How the condition of a task was decided. */
export type Decided = Omit<Payload<'task.condition_decided'>, 'condition'>

/** A task as folded. */
export interface TaskView {
  readonly plan_id: string
  readonly planned: PlannedTask
  state: TaskState
  agent_id: string | null
  /** Its runs, oldest first. There is a second one when the first ended over an unknown outcome. */
  readonly run_ids: string[]
  /** Null: it has none. */
  readonly condition: { interaction_id: string | null; decided: Decided | null } | null
  /** The question of a review. */
  interaction_id: string | null
  reason: string | null
  result: Json
  /** The positions of its calls' results in the log. */
  readonly evidence: number[]
}

/** One finding of a critic. */
export type Finding = Omit<Reported, 'task' | 'suggested_fix'> & { readonly suggested_fix?: string }
type Reported = CritiqueReport['findings'][number]

/** A judged draft, and its verdict. */
type DraftView = {
  readonly plan_id: string
  readonly outcome: 'judged' | 'failed'
  /** The reason why the draft failed, for the planner of the next one. */
  readonly failure: Json
  /** How many critiques were recorded before it. */
  readonly after_critiques: number
}

/** A goal as a fold of its runes. */
export interface GoalView {
  readonly goal_id: string
  readonly goal_description: string
  readonly config: Readonly<Record<string, Json>>
  /** The goal's own agent, the parent of all that work for it. Their usage counts as its own. */
  readonly agent_id: string
  readonly received_at: number
  state: GoalState
  readonly drafts: DraftView[]
  /** A given plan that was not judged yet. */
  given: Json
  /** The reason why the last plan was rejected or must be made again, until the next draft is judged. */
  revise: string | null
  /** The plan in force, or the one that waits for approval. */
  plan: { readonly plan_id: string; readonly tasks: readonly PlannedTask[]; interaction_id: string | null } | null
  readonly tasks: TaskView[]
  /** How many tasks the last review added. */
  added: number
  readonly critiques: { readonly plan_id: string; readonly findings: readonly Finding[] }[]
  /** The wait of the goal itself, not of one of its tasks. */
  reason: string | null
  /** The cause of its stop, as `goalStops` names it. Null while it is not stopped, and where the record has none. */
  cause: GoalStop | null
  /** When it entered its state. */
  since: number
  ended_at: number | null
}

/** Max parallel: whether a goal allows one more task of `owner` while the agents in `busy` work on one task each. */
export function hasPlace(limits: GoalView['config'], busy: readonly (string | null)[], owner: string): boolean {
  const allowed = (limit: Json | undefined) => (typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY)
  const own = Object(limits.per_agent) as Readonly<Record<string, Json>>
  const alike = busy.filter((other) => other === owner).length
  return busy.length < allowed(limits.max_parallel) && alike < allowed(own[owner])
}

/** Whether an agent works for a goal: it is the goal's own agent, or a child of that agent. */
export function worksFor(
  { agents }: Agents,
  { agent_id: head }: Pick<GoalView, 'agent_id'>,
  agent_id: string,
): boolean {
  return agent_id === head || agents.get(agent_id)?.parent_id === head
}

type Agents = { readonly agents: ReadonlyMap<string, { readonly parent_id: string | null }> }
