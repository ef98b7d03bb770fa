import type { Goals } from '../autonomy/goals/goals.ts'
import type { Json } from '../kernel/json.ts'
import type { RunStatus } from '../machines/run.ts'
import type { MemoryQuery } from '../observation/contract.ts'
import type { GraphOf } from '../observation/graph-state.ts'
import type { Unsettled } from '../observation/unsettled.ts'
import type { Spawn } from '../runtime/commands/agents.ts'
import type { Replied, Reply, ReplyOptions, Resumed } from '../runtime/commands/reply.ts'
import type { ListedSession, SessionQuery, Stopped } from '../runtime/commands/session.ts'
import type { CreatedSession, NewSession, Submission, Submitted } from '../runtime/commands/submit.ts'
import type { EphemeralDelta } from '../runtime/delta.ts'
import type { OpenInteraction } from '../runtime/models/open-work.ts'
import type { BudgetOptions } from '../runtime/options.ts'
import type { Question } from '../runtime/run/calls.ts'
import type { RunHandle } from '../runtime/run-handle.ts'
import type { AbandonedRun } from '../runtime/store.ts'
import type { Page } from '../wire/common.ts'
import type {
  ExecutionStep,
  ExecutionTimeline,
  GraphState,
  MemoryFact,
  OneSnapshot,
  TransitionRecord,
} from '../wire/contract.ts'
import type { ConsequenceView } from '../wire/dialogue.ts'
import type { FcmpEvent } from '../wire/fcmp.ts'
import type { InteractionCard, SettlementOutcome } from '../wire/interaction.ts'
import type { AgentCard, ListedRun, RunCard } from '../wire/run.ts'
import type { SessionCard } from '../wire/session.ts'

/** Which runs to list. */
export interface RunQuery {
  /** Only runs in this state. */
  readonly status?: RunStatus
  /** At most this many, from 1 to 200. Default: 50. */
  readonly limit?: number
  /** The `next_cursor` of the page before. */
  readonly cursor?: string
}

/**
 * Runs: one job of one agent each. Every method refuses an argument that does not fit with `bad_request`, and an id
 * that does not exist with `not_found`.
 */
export interface Runs {
  /**
   * Queues a run and resolves once it is recorded. Without `sessionId` it begins a session. Returns a handle with the
   * events and the result of the run. Refused with `session_over` or `session_suspended` if the session takes no work,
   * with `agent_unfit` if the agent cannot be set up, and with `key_reused` if the key belongs to another submission.
   */
  start(submission: Submission): Promise<RunHandle & Submitted>
  /** Returns the handle of a run that was started before, perhaps by another process. */
  get(runId: string): Promise<RunHandle>
  /** Returns where a run stands: status, result, budget, what it waits for. One that is not public shows no content. */
  show(runId: string): Promise<RunCard>
  /**
   * Returns one page of the runs of all sessions, the run that moved last first. `next_cursor` leads to the next page.
   */
  list(query?: RunQuery): Promise<Page<ListedRun>>
  /** Stops a run now and aborts what is under way. `accepted` is false if the run was over before. */
  cancel(runId: string, reason?: string): Promise<Stopped>
  /** Stops a run once the effects under way have finished. `accepted` is false if the run was over before. */
  interrupt(runId: string, reason?: string): Promise<Stopped>
  /**
   * Gives a run new input, a text or other JSON: its turn ends at a safe boundary, and the next turn begins with it.
   * Refused with `transition_refused` if the run is over, and with `input_missing` or `input_unfit`.
   */
  steer(runId: string, input: Json): Promise<Stopped>
  /** Returns what was done to the contracts of a run, oldest first. */
  trace(runId: string): Promise<readonly ExecutionStep[]>
  /** Returns the conversation of a run so far as FCMP events, in the order of their `seq`. */
  fcmp(runId: string): Promise<readonly FcmpEvent[]>
  /** Returns the running runs that no process holds. A process that works takes them, so it gets an empty list. */
  abandoned(): Promise<readonly AbandonedRun[]>
  /**
   * Subscribes to text of all runs of this process before it is recorded; with `sessionId`, to text of that session,
   * also of other processes that work on the store. Text of another process may come after its rune, or not at all.
   * Returns the function that unsubscribes. Errors of the listener are warned of.
   */
  listen(listener: (delta: EphemeralDelta) => void, options?: ListenOptions): () => void
}

/** The text to listen to. */
export interface ListenOptions {
  /** Only text of this session. */
  readonly sessionId?: string | undefined
}

/**
 * Sessions: one log each, with its agents, runs, goals and plans. Every method refuses an argument that does not fit
 * with `bad_request`, and an id that does not exist with `not_found`.
 */
export interface Sessions {
  /**
   * Begins a session with its root agent ready. Nothing runs before its first run. `isRepeated` says that the same
   * idempotency key created it before. Refused with `agent_unfit` if the agent cannot be set up, and with `key_reused`
   * if the key belongs to another session.
   */
  create(session: NewSession): Promise<CreatedSession>
  /** Returns all sessions, also archived ones, by their last change of state; the last one first with `backward`. */
  list(query?: SessionQuery): Promise<readonly ListedSession[]>
  /** Returns what a session is doing, what it waits for, and every machine in it that is not over. */
  get(sessionId: string): Promise<SessionCard>
  /** Lets no new turn begin. Turns under way finish. Refused with `transition_refused` if the session is not active. */
  pause(sessionId: string, reason?: string): Promise<void>
  /** Resumes a paused session. Refused with `suspended_otherwise` if its budget or its errors suspended it. */
  resume(sessionId: string, reason?: string): Promise<void>
  /** Brings back a session that its errors suspended. Refused with `suspended_otherwise` if something else did. */
  reset(sessionId: string, reason?: string): Promise<void>
  /**
   * Brings back a session that used up its budget, with new limits, counted from its beginning. A limit that is left
   * out stays. Refused with `budget_too_small`, and with `suspended_otherwise` if something else suspended it.
   */
  replenish(sessionId: string, budget: BudgetOptions, reason?: string): Promise<void>
  /**
   * Cancels open runs, terminates the agents and seals the log. Resolves once no worker holds a run of the session.
   * Refused with `transition_refused` if the session is closed already.
   */
  close(sessionId: string, reason?: string): Promise<void>
  /**
   * Moves the log of a closed session to cold storage, where it stays readable. Refused with `transition_refused` if
   * the session is not closed.
   */
  archive(sessionId: string): Promise<void>
  /**
   * Erases the content of one rune from the store, from caches and from what models will see. The chain still verifies.
   * `reason` and `principal`, the person who asks, are recorded and signed. Refused with `content_in_use` or
   * `session_busy` while work depends on the content, and with `not_redactable` if it may not be erased.
   */
  redact(sessionId: string, eventId: number, reason: string, principal?: string): Promise<void>
  /** Returns what the agents of a session remember of their actions, oldest first. */
  memory(sessionId: string, query?: MemoryQuery): Promise<readonly MemoryFact[]>
  /** Returns all contracts of a session and all their moves, by time. Refused with `not_found` if it has none. */
  timeline(sessionId: string): Promise<ExecutionTimeline>
  /** Returns where the reasoning of a session or of one agent stands, now or after an earlier event. */
  graphState(sessionId: string, of?: GraphOf): Promise<GraphState>
}

/** The decision of a person about an action. */
export interface Approval extends ReplyOptions {
  /** The digest that the interaction shows. An action that cannot be undone needs it. Null counts as left out. */
  readonly digest?: string | null
}

/** Why an action is not allowed. */
export interface Denial extends ReplyOptions {
  /** The agent receives it. */
  readonly reason?: string
}

/** The answer of a person about an action whose outcome is unknown. */
export interface Settlement extends ReplyOptions {
  /**
   * `happened` completes the action. `did_not` fails it, so that it may be tried again. `leave` settles nothing: the
   * run fails with `OUTCOME_UNKNOWN`, and the question is asked again under another id.
   */
  readonly outcome: SettlementOutcome
  /** The result of the action. Only with `happened`. */
  readonly result?: Json
  /** How the person knows. It is recorded. */
  readonly reason?: string
}

/**
 * Questions that wait for a person. Every method refuses an argument that does not fit with `bad_request`, and an id
 * that does not exist with `not_found`. A reply is refused with `interaction_closed` if another reply or a deadline was
 * first, with `reply_unfit` if it does not fit the question, and with `key_reused` if its key belongs to another reply.
 */
export interface Inbox {
  /** Returns every open question, oldest first. */
  list(): Promise<readonly OpenInteraction[]>
  /** Returns a question with everything to see before a reply, and what became of it. The prompt is verbatim. */
  get(interactionId: string): Promise<InteractionCard & Question>
  /** Allows exactly the action that the question shows. An irreversible action is refused without its `digest`. */
  approve(interactionId: string, approval?: Approval): Promise<Replied>
  /** Denies the action. The agent receives the reason. */
  deny(interactionId: string, denial?: Denial): Promise<Replied>
  /** Answers a form with `{ action, data }`, a question with `{ answer }`, or as its request describes. */
  answer(interactionId: string, answer: Json, options?: ReplyOptions): Promise<Replied>
  /**
   * Resolves an unknown outcome. `did_not` is refused with `too_early` while the worker that began the action may still
   * carry it out.
   */
  settle(interactionId: string, settlement: Settlement): Promise<Replied>
  /** Replies to a question of any kind with the recorded form of the reply. */
  reply(interactionId: string, reply: Reply): Promise<Replied>
  /**
   * Returns calls of abandoned runs whose outcome is unknown. They become questions, unless a probe answers, when a
   * process that works takes their run.
   */
  unsettled(): Promise<readonly Unsettled[]>
}

/** How an agent is stopped. */
export interface Kill {
  /** Why. It is recorded. */
  readonly reason?: string
  /** Ends an agent in a turn at once, with its turn and its runs. Without it such an agent is refused with `agent_busy`. */
  readonly force?: boolean
}

/**
 * Agents: those that are configured, and those in sessions. Every method refuses an argument that does not fit with
 * `bad_request`, and an id or name that does not exist with `not_found`.
 */
export interface Agents {
  /** Returns the configured agents. */
  list(): readonly AgentCard[]
  /**
   * Lets another agent join a session; returns its id. With `parentId` it works for that agent, draws on its budget and
   * ends with it. Refused with `session_over`, with `agent_over` if the parent is terminated, and with `agent_unfit` if
   * the agent cannot be set up.
   */
  spawn(sessionId: string, agent: string, how?: Spawn): Promise<{ readonly agentId: string }>
  /** Terminates an agent and those that work for it. Refused with `agent_busy` during a turn, unless by force. */
  kill(agentId: string, how?: Kill): Promise<void>
}

/**
 * Executions: the contract of each call that acts on the world. Every method refuses an argument that does not fit with
 * `bad_request`, and an id that does not exist, or that no reader may see, with `not_found`.
 */
export interface Executions {
  /** Returns where one contract stands. */
  snapshot(executionId: string): Promise<OneSnapshot>
  /** Returns what one contract did to the world, as the model is told. */
  consequence(executionId: string): Promise<ConsequenceView>
  /** Returns every move of one contract, oldest first. */
  transitions(executionId: string): Promise<readonly TransitionRecord[]>
  /** Replies to the question that a contract waits for. Refused with `transition_refused` if it does not wait. */
  resume(executionId: string, reply: Reply): Promise<Resumed>
  /**
   * Lets a completed irreversible action happen once more: the next call for it gets a new key. `allowedBy` is the
   * person who allows it. Refused with `not_repeatable` for every other action.
   */
  allowAgain(executionId: string, allowedBy?: string): Promise<void>
}

/** The groups of methods that operations call in a process that works. */
export interface Commands {
  /** Start runs, stop them, and see where they stand. */
  readonly runs: Runs
  /** Create, pause, close and observe sessions. */
  readonly sessions: Sessions
  /** Questions that wait for a person, and the ways to reply. */
  readonly inbox: Inbox
  /** The configured agents, and agents in sessions. */
  readonly agents: Agents
  /** The contract of each call that acts on the world. */
  readonly executions: Executions
  /** Plan, execute and review until a goal is met. */
  readonly goals: Goals
}
