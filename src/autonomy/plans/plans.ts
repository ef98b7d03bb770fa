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

/** Coordinations that survive the process. Each lives in the log of a session. */
export interface Plans {
  /** Plans an intent until it is DONE, BLOCKED, ABORTED or AWAITING_ANSWERS. All of it is recorded by then. */
  submit(submission: PlanSubmission): Promise<PlanView>
  /** Answers the open questions of a coordination. Resolves when it is at rest again. Refused with `coordination_not_waiting` if none is open. */
  answer(coordinationId: string, given: PlanAnswer): Promise<PlanView>
  show(coordinationId: string): Promise<PlanView>
  /** Newest first. */
  list(query?: PlanQuery): Promise<readonly PlanRow[]>
  /** Resolves when the coordination is at rest, in whichever process it runs. */
  rest(coordinationId: string): Promise<PlanView>
  /** The frozen files of an ended coordination, by name. Refused with `coordination_not_over` while it has not ended. */
  files(coordinationId: string): Promise<FrozenFiles>
  /** The artifacts made so far, by name: `execution_graph`, `rule_decisions_1`, … */
  documents(coordinationId: string): Promise<PlanDocuments>
  /** Verifies the frozen files of an ended coordination. An empty list: nothing is wrong. */
  verify(coordinationId: string): Promise<readonly PlanProblem[]>
  /** The `recovers` of a submission that replaces this coordination. Refused while this one has not ended. */
  recovery(coordinationId: string): Promise<Recovers>
  /** Continues every coordination that the last process left unfinished. */
  resumeAll(): Promise<void>
  /** Resolves when nothing is worked on. */
  idle(): Promise<void>
  /** Stops at the next recorded move; what is left is taken up by the next process. */
  stop(): Promise<void>
}

/** What to plan, and where. */
export interface PlanSubmission {
  /** An execution intent. An empty checksum is filled when it is recorded. */
  readonly intent: Json
  /** Without it, the configured one. */
  readonly policy?: Json
  /** Without it, the configured folder, as it is now. */
  readonly registry?: RegistrySnapshot
  /** Without it, an empty memory. Null: there is none, which ends in BLOCKED. */
  readonly memory?: Json
  /** Without it, there is none, which ends in BLOCKED. */
  readonly facts?: Json
  /** The coordination that this one takes the place of. */
  readonly recovers?: Recovers
  /** A session that exists; without it the plan gets one of its own. */
  readonly sessionId?: string
  /** The goal that wants this plan. */
  readonly goalId?: string
  /** Chosen by the caller, so that the same submission, sent again, is the same coordination. */
  readonly coordinationId?: string
  /** How long each pack of questions stays open before the defaults are taken. Without it, for ever. */
  readonly answerTimeoutMs?: number
}

/** Answers to the open questions of a plan. */
export interface PlanAnswer {
  /** The whole pack; without it, `choices`. */
  readonly answerPack?: Json
  /** By key or id of a question: one of its values, `{ text }` or `{ data }`. What is not named is left to its default. */
  readonly choices?: Choices
  readonly repliedBy?: string
  readonly idempotencyKey?: string
}

/** Which plans `plans.list` gives. */
export interface PlanQuery {
  readonly state?: CoordinationState
  readonly limit?: number
  /** Goes on after this one. */
  readonly after?: { readonly sort: number | null; readonly key: string }
}

/** One line of the list. */
export type PlanRow = Readonly<Row>
/** One recorded move, with its guards and outputs. */
export type PlanMove = PlanCard['moves'][number]
/** Open questions, and until when they can be answered. */
export type PlanQuestions = NonNullable<PlanCard['waits_for']>

/** A plan with everything that is recorded of it. */
export interface PlanView extends PlanRow {
  /** The hash of everything that went in: the same input has the same run id everywhere. */
  readonly run_id: string | null
  readonly input: CoordinationInput
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
  readonly name: string
  /** Where the text is kept: `blob_` and the SHA-256 of it. */
  readonly ref: string
}
