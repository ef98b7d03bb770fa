import type { CoordinationState, CoordinationTrigger } from '../machines/coordination.ts'
import type { Failure } from './failures.ts'
import type { AnswerLedger, Artifacts, ArtifactType, Ports, Progress } from './progress.ts'
import type { AuditEntry, GuardReading, RuleEvaluation, TapeDecision } from './schemas/record.ts'

/** What a state made and read, and the trigger it fires to be left. Whether it may is decided by the machine. */
export interface Outcome {
  readonly trigger: CoordinationTrigger
  readonly guards: readonly GuardReading[]
  readonly produced: readonly Produced[]
  readonly failure?: Failure
  readonly audit?: readonly AuditDraft[]
  readonly decisions?: readonly Omit<TapeDecision, 'at_state'>[]
  readonly evaluations?: readonly RuleEvaluation[]
  readonly ledger?: AnswerLedger
}

/** Nothing moves: what arrived was refused, and that is noted. */
interface Stays {
  readonly stays: true
  readonly ledger: AnswerLedger
  readonly audit: readonly AuditDraft[]
}

type Item<T> = T extends readonly (infer I)[] ? I : T
/** An artifact with its type. */
export type Produced = {
  [T in ArtifactType]: { readonly type: T; readonly artifact: Item<NonNullable<Artifacts[T]>> }
}[ArtifactType]

/** An audit entry before it has its number and id. */
export type AuditDraft = Pick<AuditEntry, 'event_type' | 'severity' | 'message' | 'refs'>

/** Drafts an audit entry. */
export function noted(
  event_type: AuditDraft['event_type'],
  severity: AuditDraft['severity'],
  message: string,
  refs: AuditDraft['refs'] = [],
): AuditDraft {
  return { event_type, severity, message, refs }
}

/** Does the work of one state. It sees everything so far and changes nothing. */
export type Handler = (progress: Progress, ports: Ports) => Outcome
/** A handler that may also stay in its state. */
export type WaitingHandler = (progress: Progress, ports: Ports) => Outcome | Stays

/** The states that do work. A terminal state has a closing instead. */
export type WorkingState = Exclude<CoordinationState, 'DONE' | 'BLOCKED' | 'ABORTED'>
