import type { FrozenFiles } from '../../coordinator/outputs/freeze.ts'
import type { PlanProblem } from '../../coordinator/outputs/lineage.ts'
import type { CoordinationInput } from '../../coordinator/progress.ts'
import type { Choices } from '../../coordinator/questions/answers.ts'
import type { FailurePack } from '../../coordinator/schemas/plan.ts'
import type { Recovers } from '../../coordinator/schemas/record.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { Json } from '../../kernel/json.ts'
import type { CoordinationState } from '../../machines/coordination.ts'
import type { PlanCard, PlanRow as Row } from '../../wire/plan.ts'

/**
 * Coordinations that survive the process. Each is in the log of a session. Every method refuses an argument that does
 * not fit with `bad_request`, and an id that does not exist with `not_found`.
 */
export interface Plans {
  /**
   * Judges an intent until the plan is DONE, BLOCKED, ABORTED or AWAITING_ANSWERS, and returns the plan. Nothing runs.
   * Refused with `registry_refused`, `input_unfit` or `not_plain_json` if a part of the input cannot be used, with
   * `session_over`, and with `key_reused` if `coordinationId` names another submission.
   */
  submit(submission: PlanSubmission): Promise<PlanView>
  /**
   * Answers the open questions of a plan, and returns the plan when it is at rest again. Refused with
   * `coordination_not_waiting` if it asks nothing or another answer was first, with `reply_unfit` if an answer does not
   * fit its question, and with `key_reused`.
   */
  answer(coordinationId: string, given: PlanAnswer): Promise<PlanView>
  /** Returns where a plan stands: its moves with their guards, what it waits for, why it failed. */
  show(coordinationId: string): Promise<PlanView>
  /** Returns the plans of the store, the plan that moved last first. */
  list(query?: PlanQuery): Promise<readonly PlanRow[]>
  /** Resolves when the plan is at rest: it has ended, or waits for answers. Refused with `coordination_diverged`. */
  rest(coordinationId: string): Promise<PlanView>
  /** Returns the files of an ended plan, by name. Refused with `coordination_not_over` before its end. */
  files(coordinationId: string): Promise<FrozenFiles>
  /** Returns everything that the plan has made so far, by name: `execution_graph`, `rule_decisions_1`, … */
  documents(coordinationId: string): Promise<PlanDocuments>
  /** Checks the files of an ended plan, byte by byte. Returns the problems; an empty list means that it is sound. */
  verify(coordinationId: string): Promise<readonly PlanProblem[]>
  /** The `recovers` of a submission that replaces this plan. Refused with `coordination_not_over` before its end. */
  recovery(coordinationId: string): Promise<Recovers>
  /** Continues every coordination that the last process left unfinished. */
  resumeAll(): Promise<void>
  /** Resolves when nothing is worked on. */
  idle(): Promise<void>
  /** Stops after the move under way. The next process continues the rest. */
  stop(): Promise<void>
}

/** An intent to plan, with its other inputs and its session. */
export interface PlanSubmission {
  /** An execution intent. An empty checksum is filled when it is recorded. */
  readonly intent: Json
  /** Default: the configured policy. */
  readonly policy?: Json
  /** Default: the configured folder, as it is now. */
  readonly registry?: RegistrySnapshot
  /** Default: an empty memory. Null ends in BLOCKED. */
  readonly memory?: Json
  /** Without facts, the plan ends in BLOCKED. */
  readonly facts?: Json
  /** The coordination that this one replaces. */
  readonly recovers?: Recovers
  /** An existing session. Default: a new one for this plan. */
  readonly sessionId?: string
  /** The goal that wants this plan. */
  readonly goalId?: string
  /** An id of the caller: the same submission with the same id, sent again, is the same coordination. */
  readonly coordinationId?: string
  /** How long each pack of questions stays open before the defaults are used. Without it, there is no deadline. */
  readonly answerTimeoutMs?: number
}

/** Answers to the open questions of a plan. */
export interface PlanAnswer {
  /** The whole answer pack. Default: made of `choices`. */
  readonly answerPack?: Json
  /** By key or id of a question: one of its values, `{ text }` or `{ data }`. Without a choice, a question gets its default. */
  readonly choices?: Choices
  /** The name of the person. Default: `human`. */
  readonly repliedBy?: string
  /** The same answer with the same key, sent again, is accepted again and does nothing more. */
  readonly idempotencyKey?: string
}

/** The filter and the page of `plans.list`. */
export interface PlanQuery {
  /** Only plans in this state. */
  readonly state?: CoordinationState
  /** The largest number of plans to return. Default: 100. */
  readonly limit?: number
  /** The last plan of the page before: its `updated_at` as `sort`, its `coordination_id` as `key`. */
  readonly after?: { readonly sort: number | null; readonly key: string }
}

/** One line of the list. */
export type PlanRow = Readonly<Row>
/** One recorded move, with its guards and outputs. */
export type PlanMove = PlanCard['moves'][number]
/** The open questions with their deadline. */
export type PlanQuestions = NonNullable<PlanCard['waits_for']>

/** A plan with everything that is recorded of it. */
export interface PlanView extends PlanRow {
  /** The hash of the whole input: the same input has the same run id everywhere. */
  readonly run_id: string | null
  /** The whole input that the plan was judged with. */
  readonly input: CoordinationInput
  /** Its moves, oldest first, each with its guards. */
  readonly moves: readonly PlanMove[]
  /** Its open questions. Null: it asks nothing. */
  readonly waits_for: PlanQuestions | null
  /** Why there is no plan, if there is none. */
  readonly failure: FailurePack | null
  /** Its frozen files, by content. */
  readonly files: readonly PlanFile[]
}

/** Everything that a coordination has made, by the name of its file without the ending; rounds are numbered. */
export type PlanDocuments = Readonly<Record<string, Json>>

/** A frozen file by its name. */
export interface PlanFile {
  /** Its name, such as `execution_graph.json`. */
  readonly name: string
  /** The address of the text: `blob_` and its SHA-256. */
  readonly ref: string
}
