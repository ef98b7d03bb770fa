import type { FailureType } from './schemas/plan.ts'
import type { Problem } from './schemas/scalars.ts'

interface Cause {
  readonly type: FailureType
  readonly suggestions: readonly string[]
}

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
  question_without_fallback: { type: 'constraint_violation', suggestions: ['Settle the open question in the intent.', 'Give it a default that can be used.', 'Choose a mode in which it may be asked.'] },
  question_budget_exceeded:  { type: 'constraint_violation', suggestions: ['Raise question_budget.', 'Settle some of the open questions in the intent.'] },
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
} as const satisfies Readonly<Record<string, Cause>>

/** A cause of failure. */
export type FailureCause = keyof typeof failureCauses

/** Why a handler does not go on. What it moves to is the business of the trigger it fires. */
export interface Failure {
  readonly cause: FailureCause
  readonly message: string
  readonly problems: readonly Problem[]
}
