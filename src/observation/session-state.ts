import type { Json } from '../kernel/json.ts'
import type { MachineName } from '../machines/all.ts'
import type { ContractStatus } from '../machines/contract.ts'
import type { InteractionState } from '../machines/interaction.ts'
import type { RunStatus } from '../machines/run.ts'
import type { ToolState } from '../machines/tool.ts'
import type { TurnState } from '../machines/turn.ts'
import type { Decider, Evidence, Payload, RunMode, WaitingReason } from '../runes/kinds.ts'
import type { Visibility } from '../runes/rune.ts'
import type { Dialogue } from './dialogue.ts'
import type { AllowedTool, GoalView } from './goal-state.ts'

/** The limits of a session, an agent or a run. */
export type Budget = NonNullable<Payload<'run.submitted'>['budget']>

/** A folded session. Decisions are made from it. */
export interface SessionState {
  readonly session_id: string
  /** The last rune that was folded in. */
  event_id: number
  /** Every subject that is not over, and the runs, agents and the session even then. `version`: how often it moved. */
  readonly subjects: Map<string, { readonly machine: MachineName; state: string; version: number }>
  readonly agents: Map<string, AgentView>
  /** Those of them that are not over. */
  readonly openAgents: Map<string, AgentView>
  readonly runs: Map<string, RunView>
  /** Those of them that are not over, in the order in which they were submitted: few, however long the session is. */
  readonly openRuns: Map<string, RunView>
  readonly turns: Map<string, TurnView>
  readonly calls: Map<string, CallView>
  readonly interactions: Map<string, InteractionView>
  /** Irreversible actions that a person wants to repeat: the key that is taken, and the one to use instead. */
  readonly repeats: Map<string, string>
  readonly goals: Map<string, GoalView>
  config: Readonly<Record<string, Json>>
  root_agent_id: string
  turn_errors_in_a_row: number
  /** A larger budget lifts a suspension by `budget`; a reset lifts one by `errors`. Null: not suspended. */
  suspension: { readonly by: 'budget' | 'errors'; readonly reason: string } | null
  used: Used
}

/** The usage, in the units of a budget. Time counts while a worker holds a run, not while it waits for a person. */
export interface Used {
  tokens: number
  tool_calls: number
  wall_time_ms: number
  /** Absent until a priced usage is recorded. */
  cost_usd?: number
}

/** An agent as folded. */
export interface AgentView {
  readonly agent_id: string
  readonly agent: string
  readonly role: string
  readonly parent_id: string | null
  /** The call by which another agent delegated its one task to it; the agent ends with the task. */
  parent_call_id: string | null
  readonly budget: Budget | null
  readonly used: Used
  turn_id: string | null
  /** Empty once the agent is over: no model sees it again. */
  dialogue: Dialogue
  /** The newest memories of actions, oldest first. */
  readonly facts: string[]
}

/** A run as folded. */
export interface RunView {
  readonly run_id: string
  readonly agent_id: string
  readonly agent: string
  readonly input: Json
  readonly mode: RunMode
  /** Waits for a reply without limit; otherwise a deadline decides. */
  readonly strict: boolean
  readonly budget: Budget | null
  readonly used: Used
  /** The time up to which its usage is counted. */
  clock_at: number
  readonly parent_call_id: string | null
  /** The run that delegated this task, also when that run is over. */
  readonly parent_run_id: string | null
  /** All tools that it may use, if a judged plan binds it; otherwise null. */
  readonly allowed_tools: readonly AllowedTool[] | null
  readonly submitted_event_id: number
  /** As it was submitted. All runes of the run have the same visibility. */
  readonly visibility: Visibility
  status: RunStatus
  /** When it last moved. */
  since: number
  attempt: number
  epoch: number
  turn_id: string | null
  /** It has had a turn, so its input is in the dialogue. */
  has_begun: boolean
  /** Requests that the holder has not obeyed yet. */
  cancel: 'cancel' | 'interrupt' | null
  cancel_reason: string
  readonly steers: Json[]
  /** An input that it has not answered yet is erased. */
  is_input_erased: boolean
  requeues_without_progress: number
  tries: number
  result: Json | null
  error_code: string | null
  /** The owner of the budget that ended it. Null: none did. */
  budget_of: string | null
  budget_spent: BudgetSpent | null
  /** The message of its last move: the reason why it failed, was canceled or requeued. */
  message: string | null
}

/** A turn as folded. */
export interface TurnView {
  readonly turn_id: string
  readonly agent_id: string
  readonly run_id: string
  state: TurnState
  readonly started_at: number
  round: number
  /** The calls of the current round, in the order of the model. */
  call_ids: readonly string[]
}

/** A call with its contract, as folded. */
export interface CallView {
  readonly call_id: string
  readonly run_id: string
  readonly agent_id: string
  readonly turn_id: string
  readonly action_type: 'tool_call' | 'ecs_request'
  readonly name: string
  readonly arguments: Json
  readonly definition_sha256: string | null
  /** Its result, once it is completed, is the result of the run. */
  ends_turn: boolean
  /** Its arguments are erased: it must neither begin nor be repeated. */
  is_erased: boolean
  /** A rune of its contract is secret: no fact about it is remembered. */
  is_secret: boolean
  execution_id: string | null
  tool: ToolState | null
  contract: ContractStatus | null
  reason: WaitingReason | null
  /** The last decider of its contract. */
  decided_by: Decider | null
  irreversible: boolean
  /** As the tool was declared when it was called. */
  read_only: boolean
  idempotent: boolean
  idempotency_key: string | null
  timeout_ms: number | null
  action_summary: string
  /** The last time that its effect was allowed to begin. */
  started_at: number
  opened_at: number
  interaction_id: string | null
  /** The evidence of its unknown outcome, oldest first. */
  readonly evidence: Evidence[]
}

/** The origin of a question: a call of a run, a plan, or a task of a goal. */
type Asker = 'run_id' | 'call_id' | 'coordination_id' | 'goal_id' | 'task_id'

/** A question as folded. */
export interface InteractionView extends Readonly<Record<Asker, string | null>> {
  readonly interaction_id: string
  readonly opened_at: number
  readonly opened: Payload<'interaction.opened'>
  state: InteractionState
  answered: Payload<'interaction.answered'> | null
}

/** The limit of a used-up budget, in numbers; `needed`: how many calls the next step needs over it. */
export type BudgetSpent = Readonly<NonNullable<Payload<'run.moved'>['budget_spent']>>
