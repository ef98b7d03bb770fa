import { type EndOf, type Finding, finding } from '../kernel/machine.ts'
import type {
  CoordinationGuard,
  CoordinationState,
  CoordinationTrigger,
  coordinationMachine,
} from '../machines/coordination.ts'
import type { AnswerLedger, Artifacts, ArtifactType, Ports, Progress } from './progress.ts'
import type { FailureType } from './schemas/plan.ts'
import type { AuditEntry, GuardReading, RuleEvaluation, TapeDecision } from './schemas/record.ts'
import type { Problem } from './schemas/scalars.ts'

/** The result of a handler: artifacts, readings, and the trigger to leave the state. The machine decides on the move. */
export interface Outcome {
  readonly trigger: CoordinationTrigger
  readonly guards: readonly GuardReading[]
  readonly produced: readonly Produced[]
  readonly failure?: Failure
  readonly audit?: readonly AuditDraft[]
  readonly decisions?: readonly Decision[]
  readonly evaluations?: readonly RuleEvaluation[]
  readonly ledger?: AnswerLedger
}

/** The state stays: the answers were refused, and the audit log says so. */
type Stays = { readonly stays: true; readonly ledger: AnswerLedger; readonly audit: readonly AuditDraft[] }

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

type Decision = Omit<TapeDecision, 'at_state'>

/** Drafts a decision for the tape. */
export function decided(decision_type: Decision['decision_type'], rationale: string, outcome: string): Decision {
  return { decision_type, rationale, outcome }
}

/** Does the work of one state. A pure function of the progress so far. */
export type Handler = (progress: Progress, ports: Ports) => Outcome
/** A handler that may also stay in its state. */
export type WaitingHandler = (progress: Progress, ports: Ports) => Outcome | Stays

/** The states that do work. A terminal state has a closing instead. */
export type WorkingState = Exclude<CoordinationState, EndOf<typeof coordinationMachine>>

/** The failure of a broken guard. Without `problems` it lists every broken guard. A cause whose `problems` is empty does not apply. */
export type Cause<F> = readonly [
  cause: FailureCause,
  message: string,
  trigger: CoordinationTrigger,
  problems?: (facts: F, because: string) => readonly Problem[],
]

/** The guards of one state in the order of the tape. A guard without a cause must hold whenever no other one is broken. */
export type GuardTable<F> = readonly Guard<F>[]
type Guard<F> = readonly [guard: CoordinationGuard, read: (facts: F) => Finding, ...causes: Cause<F>[]]

const resubmit = 'Submit the corrected intent as a new coordination; its lineage names this one.'

/** Every cause that ends a coordination without a plan. Of several in one state, the first one listed counts. */
// biome-ignore format: tables are audited by eye
export const failureCauses = {
  execution_payload:         { type: 'red_line_violation',   suggestions: ['Find out who put something to execute into an intent, and why.', 'Name registry commands instead of carrying what they do.', 'Re-design the intent so that it proposes and does not act.'] },
  schema_invalid:            { type: 'constraint_violation', suggestions: ['Correct every field listed under problems.', resubmit] },
  checksum_mismatch:         { type: 'constraint_violation', suggestions: ['Check who changed the intent after it was sealed.', 'Seal it again with the computed checksum if the change is meant.', resubmit] },
  full_auto_risk:            { type: 'policy_violation',     suggestions: ['Choose interactive or semi_auto, so that a person can be asked.', 'Leave the risky commands to an intent of their own.', resubmit] },
  operation_forbidden:       { type: 'policy_violation',     suggestions: ['Plan without the forbidden operation.', 'Have the operator adjust forbidden_operations or allow_destructive in the policy.', 'Say in the registry how the command is undone.', resubmit] },
  reference_missing:         { type: 'missing_registry',     suggestions: ['Correct the id; the nearest existing one is named.', 'Add the content to the registry.', resubmit] },
  reference_inactive:        { type: 'missing_registry',     suggestions: ['Refer to a version that is active or frozen.', 'Activate the content in the registry.', resubmit] },
  version_drift:             { type: 'missing_registry',     suggestions: ['Look at what changed and pin the version that is in the registry now.', 'Restore the version that the intent was written against.', resubmit] },
  memory_unavailable:        { type: 'constraint_violation', suggestions: ['Provide a memory pack; it may be empty, but it must exist.', 'Lower min_memory_items in the policy if fewer memories will do.'] },
  facts_unavailable:         { type: 'constraint_violation', suggestions: ['Scan the project and provide the fact pack.'] },
  policy_invalid:            { type: 'constraint_violation', suggestions: ['Correct every field of the policy listed under problems.'] },
  model_routing_breach:      { type: 'policy_violation',     suggestions: ['Select agents whose models the policy allows.', 'Have the operator decide whether model_routing may be widened.'] },
  rule_conflict:             { type: 'rule_denied',          suggestions: ['Let the owners of the conflicting rules decide which one holds, and change the other.', 'Plan without the command they disagree about.'] },
  rule_denied:               { type: 'rule_denied',          suggestions: ['Read the reasons of the rules that deny it.', 'Plan without the denied command, or change what the rule objects to.'] },
  rules_undecidable:         { type: 'constraint_violation', suggestions: ['Correct the rules that failed; their errors are listed.', 'Add a rule that covers the command, if none matched.'] },
  graph_has_cycle:           { type: 'constraint_violation', suggestions: ['Break the cycle between the named nodes: change depends_on or the order of phases.', resubmit] },
  graph_not_covered:         { type: 'constraint_violation', suggestions: ['Give every phase, step and agent its place.', resubmit] },
  action_without_evidence:   { type: 'constraint_violation', suggestions: ['Give each named step at least one evidence_ref.', resubmit] },
  question_without_fallback: { type: 'constraint_violation', suggestions: ['Answer the open question in the intent.', 'Give it a default that can be used.', 'Choose a mode in which it may be asked.'] },
  question_budget_exceeded:  { type: 'constraint_violation', suggestions: ['Raise question_budget.', 'Answer some of the open questions in the intent.'] },
  question_ungoverned:       { type: 'constraint_violation', suggestions: ['Give each named question the evidence, default and type that the policy asks for.'] },
  timed_out:                 { type: 'constraint_violation', suggestions: ['Submit again when someone is there to answer.', 'Give the question a default that can be used.'] },
  questions_withdrawn:       { type: 'constraint_violation', suggestions: ['Set the goal again, or submit the intent on its own, if the plan is still wanted.'] },
  conflict_limit_reached:    { type: 'constraint_violation', suggestions: ['Choose answers that the rules allow; the conflicts are listed.', 'Change the rules, if they are wrong.', resubmit] },
  graph_incomplete:          { type: 'constraint_violation', suggestions: ['Answer the questions that still stand in the graph as placeholders.', resubmit] },
  budget_exceeded:           { type: 'constraint_violation', suggestions: ['Plan fewer or smaller steps.', 'Raise the budget that is exceeded.', resubmit] },
  review_unsatisfied:        { type: 'constraint_violation', suggestions: ['Make sure that every category in requires_review has a review gate.'] },
  risk_unjustified:          { type: 'constraint_violation', suggestions: ['Give evidence for every risk factor.', resubmit] },
  artifact_schema_violation: { type: 'constraint_violation', suggestions: ['An output does not have its own shape: this is a defect, report it with the tape.'] },
  checksum_failed:           { type: 'constraint_violation', suggestions: ['An output changed after it was recorded: find out where, and coordinate again.'] },
  lineage_incomplete:        { type: 'constraint_violation', suggestions: ['Coordinate again from the intent: the outputs cannot be traced back to it.'] },
} as const satisfies Readonly<Record<string, { readonly type: FailureType; readonly suggestions: readonly string[] }>>

/** A cause of failure. */
type FailureCause = keyof typeof failureCauses

/** Why a coordination fails. The trigger decides where it goes. */
export interface Failure {
  readonly cause: FailureCause
  readonly message: string
  readonly problems: readonly Problem[]
}

type Judged = Pick<Outcome, 'trigger' | 'guards' | 'failure'>

const gravity = Object.keys(failureCauses)

/** Evaluates a table. The gravest cause gives failure and trigger; `every`: the failure lists the problems of all. */
export function judge<F>(table: GuardTable<F>, facts: F, passed: CoordinationTrigger, lists?: 'every'): Judged {
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
