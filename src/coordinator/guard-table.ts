import { type Finding, finding } from '../kernel/machine.ts'
import type { CoordinationGuard, CoordinationState, CoordinationTrigger } from '../machines/coordination.ts'
import { type Failure, type FailureCause, failureCauses } from './failures.ts'
import type { AnswerLedger, Artifacts, ArtifactType, Ports, Progress } from './progress.ts'
import type { AuditEntry, GuardReading, RuleEvaluation, TapeDecision } from './schemas/record.ts'
import type { Problem } from './schemas/scalars.ts'

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

/** Drafts a decision for the tape. */
export function decided(
  decision_type: TapeDecision['decision_type'],
  rationale: string,
  outcome: string,
): Omit<TapeDecision, 'at_state'> {
  return { decision_type, rationale, outcome }
}

/** Does the work of one state. It sees everything so far and changes nothing. */
export type Handler = (progress: Progress, ports: Ports) => Outcome
/** A handler that may also stay in its state. */
export type WaitingHandler = (progress: Progress, ports: Ports) => Outcome | Stays

/** The states that do work. A terminal state has a closing instead. */
export type WorkingState = Exclude<CoordinationState, 'DONE' | 'BLOCKED' | 'ABORTED'>

/** Evaluates one guard. */
export type Predicate<F> = (facts: F) => Finding

/** What a broken guard means. Without `problems` the failure lists every broken guard; a cause with no problems does not apply. */
export type Cause<F> = readonly [
  cause: FailureCause,
  message: string,
  trigger: CoordinationTrigger,
  problems?: (facts: F, because: string) => readonly Problem[],
]

/** The guards of one state in the order of the tape. A guard without a cause must hold whenever no other one is broken. */
export type GuardTable<F> = readonly (readonly [guard: CoordinationGuard, Predicate<F>, ...causes: Cause<F>[]])[]

const gravity = Object.keys(failureCauses)

/**
 * Evaluates a table. The gravest cause that applies, by its place in `failureCauses`, gives the failure and its trigger;
 * `passed` is the trigger if none does. The failure lists the problems of its own cause, or of every cause that applies.
 */
export function judge<F>(
  table: GuardTable<F>,
  facts: F,
  passed: CoordinationTrigger,
  lists: 'gravest' | 'every' = 'gravest',
): Pick<Outcome, 'trigger' | 'guards' | 'failure'> {
  const guards = readGuards(table, facts)
  const broken = guards.filter((reading) => !reading.passed)
  const byName = broken.map(({ guard_name, reason }) => ({ code: guard_name, message: reason }))
  const applying = table
    .flatMap(([guard, , ...causes]) => {
      const reading = broken.find(({ guard_name }) => guard_name === guard)
      if (reading === undefined) return []
      return causes.map(([cause, message, trigger, problems]) => ({
        trigger,
        failure: { cause, message, problems: problems?.(facts, reading.reason) ?? byName } satisfies Failure,
      }))
    })
    .filter(({ failure }) => failure.problems.length > 0)
    .sort((a, b) => gravity.indexOf(a.failure.cause) - gravity.indexOf(b.failure.cause))
  const [gravest] = applying
  if (gravest === undefined) return { trigger: passed, guards }
  const every = lists === 'every' ? { problems: applying.flatMap(({ failure }) => failure.problems) } : {}
  return { trigger: gravest.trigger, guards, failure: { ...gravest.failure, ...every } }
}

/** Evaluates every guard of a table, in order, as the tape records it. */
export function readGuards<F>(table: GuardTable<F>, facts: F): readonly GuardReading[] {
  return table.map(([guard_name, predicate]) => {
    const { holds, because } = predicate(facts)
    return { guard_name, passed: holds, reason: because }
  })
}

/** Holds unless there are offenders; the reason names them. */
export function unless(offenders: readonly string[], fine: string, wrong: string): Finding {
  return finding(offenders.length === 0, fine, `${wrong}: ${offenders.join(', ')}.`)
}

/** Holds unless there are problems; the reason is their messages. */
export function unlessProblems(problems: readonly Problem[], fine: string): Finding {
  return finding(problems.length === 0, fine, problems.map(({ message }) => message).join(' '))
}
