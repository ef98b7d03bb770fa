import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import type { CoordinationState } from '../machines/coordination.ts'
import type { RuleEngine } from './rules/engine.ts'
import type { ContextBundle } from './schemas/context.ts'
import type { PrecheckReport, RiskAssessment, RuleDecisions } from './schemas/judgement.ts'
import type { ExecutionGraph, FailurePack, ReviewPack, RunSummary } from './schemas/plan.ts'
import type { AnswerPack, QuestionPack } from './schemas/questions.ts'
import type {
  AuditEntry,
  GuardReading,
  Lineage,
  Recovers,
  RuleEvaluation,
  TapeDecision,
  TapeEntry,
} from './schemas/record.ts'
import type { RegistrySnapshot } from './schemas/registry.ts'
import type { Problem } from './schemas/scalars.ts'

/** Goes up whenever the same input may give other bytes. */
export const coordinatorVersion = '1.4.0'

/** Everything that a plan is made of. */
export interface CoordinationInput {
  readonly intent: Json
  readonly policy: Json
  readonly registry: RegistrySnapshot
  /** Null: there is none, which ends in BLOCKED. */
  readonly memory: Json
  readonly facts: Json
  /** The coordination that this one takes the place of. */
  readonly recovers?: Recovers
}

/** What may arrive while a coordination waits. `withdrawn`: the plan is not wanted any more, so no answer will come. */
export type AnswerRound = { readonly answer_pack: Json } | { readonly timed_out: true } | { readonly withdrawn: true }

/** What the Coordinator gets from outside. Both are deterministic. */
export interface Ports {
  readonly sha256: Sha256
  readonly rules: RuleEngine
}

/** All artifacts. Of those that every round produces the last one counts. */
export interface Artifacts {
  readonly precheck_report?: PrecheckReport
  readonly context_bundle?: ContextBundle
  readonly rule_decisions: readonly RuleDecisions[]
  readonly risk_assessment: readonly RiskAssessment[]
  readonly execution_graph_draft: readonly ExecutionGraph[]
  readonly question_pack: readonly QuestionPack[]
  readonly answer_pack: readonly AnswerPack[]
  readonly execution_graph?: ExecutionGraph
  readonly review_pack?: ReviewPack
  readonly lineage?: Lineage
  readonly run_summary?: RunSummary
  readonly failure_pack?: FailurePack
}

/** The name of an artifact type. */
export type ArtifactType = keyof Artifacts

/** An answer that the ledger keeps. Its value: the choice, the text, or the canonical text of the data. */
export type AcceptedAnswer = Readonly<Omit<ExecutionGraph['applied_answers'][number], 'changed'>>

/** An answer that the rules refuse, and the step it concerns. */
export interface AnswerConflict {
  readonly round: number
  readonly question_id: string
  readonly key: string
  readonly value: string
  readonly step_id: string
  readonly reason: string
}

/** Questions and answers so far. */
export interface AnswerLedger {
  /** Arrived, in order; the first `read` of them are dealt with. */
  readonly arrived: readonly AnswerRound[]
  readonly read: number
  readonly accepted: readonly AcceptedAnswer[]
  readonly asked: readonly string[]
  readonly conflicts: readonly AnswerConflict[]
  /** How often answers have sent the plan back to the rules. */
  readonly returns: number
  /** Packs that could not be taken, by their place in `arrived`; they changed nothing. */
  readonly refused: readonly Refused[]
}

/** An answer pack that was refused. */
export interface Refused {
  readonly arrived: number
  readonly problems: readonly Problem[]
  readonly guards: readonly GuardReading[]
}

/** A coordination under way. It is plain JSON: another process can continue it. */
export interface Progress {
  readonly run_id: string
  readonly input: CoordinationInput
  readonly state: CoordinationState
  readonly artifacts: Artifacts
  readonly ledger: AnswerLedger
  readonly entries: readonly TapeEntry[]
  readonly decisions: readonly TapeDecision[]
  readonly evaluations: readonly RuleEvaluation[]
  readonly audit: readonly AuditEntry[]
}
