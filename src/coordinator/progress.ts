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

/** Raised whenever the same input may give other bytes. */
export const coordinatorVersion = '1.4.0'

/** The whole input of a plan. */
export interface CoordinationInput {
  /** The execution intent. */
  readonly intent: Json
  /** The execution policy. */
  readonly policy: Json
  /** The workflows, agents, commands and rules. */
  readonly registry: RegistrySnapshot
  /** The memory of the project. Null: there is none, which ends in BLOCKED. */
  readonly memory: Json
  /** The facts about the project. Null: there are none, which ends in BLOCKED. */
  readonly facts: Json
  /** The coordination that this one replaces. */
  readonly recovers?: Recovers
}

/** An arrival while a coordination waits. `withdrawn`: the plan is not wanted any more, so no answer will come. */
export type AnswerRound = { readonly answer_pack: Json } | { readonly timed_out: true } | { readonly withdrawn: true }

/** The ports of the Coordinator. Both are deterministic. */
export interface Ports {
  /** Hashes every input and artifact. */
  readonly sha256: Sha256
  /** Judges each step. */
  readonly rules: RuleEngine
}

/** All artifacts. Each round adds to the lists; the last artifact of a list counts. */
export interface Artifacts {
  /** The report whether the input can be planned with. */
  readonly precheck_report?: PrecheckReport
  /** The input in force, except the registry. */
  readonly context_bundle?: ContextBundle
  /** The verdict on each step, one for each round. */
  readonly rule_decisions: readonly RuleDecisions[]
  /** The risk of the plan, one for each round. */
  readonly risk_assessment: readonly RiskAssessment[]
  /** The plan before its answers, one for each round. */
  readonly execution_graph_draft: readonly ExecutionGraph[]
  /** The questions of each round. */
  readonly question_pack: readonly QuestionPack[]
  /** The accepted answer packs. */
  readonly answer_pack: readonly AnswerPack[]
  /** The judged plan. */
  readonly execution_graph?: ExecutionGraph
  /** The plan as a person reviews it before it runs. */
  readonly review_pack?: ReviewPack
  /** The digest of each input and of each artifact. */
  readonly lineage?: Lineage
  /** The summary of a coordination that made a plan. */
  readonly run_summary?: RunSummary
  /** The reason why there is no plan. */
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
  /** All rounds in the order of arrival. The first `read` of them are processed. */
  readonly arrived: readonly AnswerRound[]
  readonly read: number
  readonly accepted: readonly AcceptedAnswer[]
  readonly asked: readonly string[]
  readonly conflicts: readonly AnswerConflict[]
  /** How often answers have sent the plan back to the rules. */
  readonly returns: number
  /** Refused packs, by their place in `arrived`. They changed nothing. */
  readonly refused: readonly Refused[]
}

/** An answer pack that was refused. */
export interface Refused {
  /** The place of the pack among the rounds that arrived. */
  readonly arrived: number
  /** The problems of the pack. */
  readonly problems: readonly Problem[]
  /** The guards that refused it. */
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
