import {
  asReason,
  defineGuarded,
  eachGuard,
  type Finding,
  type GuardOf,
  type StateOf,
  type TriggerOf,
} from '../kernel/machine.ts'

type TapeReading = Readonly<Record<'guard_name' | 'reason', string> & { passed: boolean }>

/** The facts of every guard of a plan: the readings of the move on the tape. */
export function coordinationFacts(guards: readonly TapeReading[]) {
  const found = guards.map((one) => [one.guard_name, { holds: one.passed, because: asReason(one.reason) }] as const)
  return { readings: new Map<string, Finding>(found) as ReadonlyMap<string, Finding> }
}

/** The guard tables of the Coordinator read these guards, each with its reason. */
// biome-ignore format: one line per state
const coordinationGuards = eachGuard(
  [
    'intent_schema_valid', 'checksum_matches', 'red_lines_satisfied', 'registry_references_active', 'no_version_drift',
    'memory_pack_available', 'fact_pack_available', 'policy_loaded',
    'all_rules_decidable', 'no_unresolvable_conflicts', 'denies_have_reasons', 'no_hard_denies',
    'graph_is_acyclic', 'phases_are_mapped', 'agents_have_swimlanes', 'actions_have_evidence', 'uncertainties_exist', 'policy_allows_questions', 'nothing_to_ask',
    'question_budget_kept', 'questions_have_evidence', 'questions_have_defaults', 'blocking_levels_fit_policy',
    'answers_fit_schema', 'critical_questions_answered', 'no_answer_conflicts', 'conflict_rounds_left',
    'no_placeholders', 'nodes_are_complete', 'swimlanes_cover_nodes',
    'review_categories_satisfied', 'impact_within_budgets', 'risk_is_justified',
    'outputs_have_checksums', 'lineage_is_complete', 'outputs_fit_schema',
  ],
  (guard) =>
    ({ readings }: ReturnType<typeof coordinationFacts>) =>
      readings.get(guard) ?? { holds: false, because: 'The tape has no reading of it.' },
)

/** Specification 003. Guards are evaluated on leaving a state and recorded with that move. */
export const coordinationMachine = defineGuarded(coordinationGuards, {
  name: 'coordination',
  version: 3,
  meaning: 'One pass of the Coordinator from an intent to frozen outputs. It plans and judges; it never executes.',
  initial: 'RECEIVED',
  opens: 'coordination.received',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    RECEIVED:          { tone: 'active',  meaning: 'The intent is taken in and its tape begun.' },
    PRECHECKED:        { tone: 'active',  meaning: 'Schema, checksum, red lines, registry references and versions were checked.' },
    CONTEXT_BUILT:     { tone: 'active',  meaning: 'Memory, facts and policy are one bundle.' },
    RULES_EVALUATED:   { tone: 'active',  meaning: 'Every planned command has a verdict with reasons.' },
    GRAPH_DRAFTED:     { tone: 'active',  meaning: 'The plan is a graph; questions may stand in it as placeholders.' },
    QUESTIONS_EMITTED: { tone: 'active',  meaning: 'What is uncertain has been put into questions.' },
    AWAITING_ANSWERS:  { tone: 'waiting', meaning: 'It waits for answers from outside.', stable: true, resumable: true },
    GRAPH_FINALIZED:   { tone: 'active',  meaning: 'The graph is complete, with the answers in it.' },
    REVIEW_PACK_BUILT: { tone: 'active',  meaning: 'Impact, risk, rollback and review gates are written up.' },
    FROZEN_OUTPUTS:    { tone: 'active',  meaning: 'Every output has its checksum and its lineage.' },
    DONE:              { tone: 'good',    meaning: 'The plan is frozen and may be executed by others.', terminal: true },
    BLOCKED:           { tone: 'bad',     meaning: 'A constraint is not met; it can be mended and submitted anew.', terminal: true },
    ABORTED:           { tone: 'bad',     meaning: 'A red line was crossed; a person has to look.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'RECEIVED',          on: 'intent_accepted',             to: 'PRECHECKED',        rune: 'coordination.moved' },

    { from: 'PRECHECKED',        on: 'validation_passed',           to: 'CONTEXT_BUILT',     rune: 'coordination.moved',
      when: ['intent_schema_valid', 'checksum_matches', 'red_lines_satisfied', 'registry_references_active', 'no_version_drift'] },
    { from: 'PRECHECKED',        on: 'validation_failed',           to: 'BLOCKED',           rune: 'coordination.moved' },
    { from: 'PRECHECKED',        on: 'red_line_crossed',            to: 'ABORTED',           rune: 'coordination.moved',
      extension: 'Red line 1 demands that an execution payload aborts.' },

    { from: 'CONTEXT_BUILT',     on: 'context_ready',               to: 'RULES_EVALUATED',   rune: 'coordination.moved',
      when: ['memory_pack_available', 'fact_pack_available', 'policy_loaded'] },
    { from: 'CONTEXT_BUILT',     on: 'memory_pack_unavailable',     to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'RULES_EVALUATED',   on: 'rules_adjudicated',           to: 'GRAPH_DRAFTED',     rune: 'coordination.moved',
      when: ['all_rules_decidable', 'no_unresolvable_conflicts', 'denies_have_reasons', 'no_hard_denies'] },
    { from: 'RULES_EVALUATED',   on: 'hard_rule_deny',              to: 'ABORTED',           rune: 'coordination.moved' },
    { from: 'RULES_EVALUATED',   on: 'rules_undecidable',           to: 'BLOCKED',           rune: 'coordination.moved',
      extension: 'Two of three places in the specification block on rules that a machine cannot decide.' },

    { from: 'GRAPH_DRAFTED',     on: 'uncertainties_policy_allows', to: 'QUESTIONS_EMITTED', rune: 'coordination.moved',
      when: ['graph_is_acyclic', 'phases_are_mapped', 'agents_have_swimlanes', 'actions_have_evidence', 'uncertainties_exist', 'policy_allows_questions'] },
    { from: 'GRAPH_DRAFTED',     on: 'no_questions_needed',         to: 'GRAPH_FINALIZED',   rune: 'coordination.moved',
      when: ['graph_is_acyclic', 'phases_are_mapped', 'agents_have_swimlanes', 'actions_have_evidence', 'nothing_to_ask'] },
    { from: 'GRAPH_DRAFTED',     on: 'graph_invalid',               to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'QUESTIONS_EMITTED', on: 'questions_emitted',           to: 'AWAITING_ANSWERS',  rune: 'coordination.moved',
      when: ['question_budget_kept', 'questions_have_evidence', 'questions_have_defaults', 'blocking_levels_fit_policy'] },
    { from: 'QUESTIONS_EMITTED', on: 'budget_exceeded',             to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'AWAITING_ANSWERS',  on: 'answers_received',            to: 'GRAPH_FINALIZED',   rune: 'coordination.moved',
      when: ['answers_fit_schema', 'critical_questions_answered', 'no_answer_conflicts'] },
    { from: 'AWAITING_ANSWERS',  on: 'answer_conflicts',            to: 'RULES_EVALUATED',   rune: 'coordination.moved', when: ['conflict_rounds_left'] },
    { from: 'AWAITING_ANSWERS',  on: 'timeout_no_fallback',         to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'GRAPH_FINALIZED',   on: 'graph_complete',              to: 'REVIEW_PACK_BUILT', rune: 'coordination.moved',
      when: ['no_placeholders', 'nodes_are_complete', 'swimlanes_cover_nodes'] },
    { from: 'GRAPH_FINALIZED',   on: 'graph_incomplete',            to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'REVIEW_PACK_BUILT', on: 'review_pack_ready',           to: 'FROZEN_OUTPUTS',    rune: 'coordination.moved',
      when: ['red_lines_satisfied', 'review_categories_satisfied', 'impact_within_budgets', 'risk_is_justified'] },
    { from: 'REVIEW_PACK_BUILT', on: 'budget_violated',             to: 'BLOCKED',           rune: 'coordination.moved' },

    { from: 'FROZEN_OUTPUTS',    on: 'all_outputs_frozen',          to: 'DONE',              rune: 'coordination.moved',
      when: ['outputs_have_checksums', 'lineage_is_complete', 'outputs_fit_schema'] },
    { from: 'FROZEN_OUTPUTS',    on: 'checksum_lineage_failed',     to: 'BLOCKED',           rune: 'coordination.moved' },
    { from: 'FROZEN_OUTPUTS',    on: 'schema_violated',             to: 'ABORTED',           rune: 'coordination.moved',
      extension: 'The specification aborts on a generated artifact that violates its schema.' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'RECEIVED',          to: 'RULES_EVALUATED',   because: 'Nothing is judged that was not checked.' },
    { from: 'PRECHECKED',        to: 'RECEIVED',          because: 'The only way back is from AWAITING_ANSWERS to RULES_EVALUATED.' },
    { from: 'CONTEXT_BUILT',     to: 'PRECHECKED',        because: 'The only way back is from AWAITING_ANSWERS to RULES_EVALUATED.' },
    { from: 'RULES_EVALUATED',   to: 'CONTEXT_BUILT',     because: 'The only way back is from AWAITING_ANSWERS to RULES_EVALUATED.' },
    { from: 'GRAPH_DRAFTED',     to: 'RULES_EVALUATED',   because: 'The only way back is from AWAITING_ANSWERS to RULES_EVALUATED.' },
    { from: 'QUESTIONS_EMITTED', to: 'GRAPH_FINALIZED',   because: 'Questions that were asked are answered, or time out, first.' },
    { from: 'AWAITING_ANSWERS',  to: 'GRAPH_DRAFTED',     because: 'Answers that change the plan are judged by the rules again.' },
    { from: 'GRAPH_FINALIZED',   to: 'FROZEN_OUTPUTS',    because: 'A plan is written up for review before it is frozen.' },
    { from: 'FROZEN_OUTPUTS',    to: 'REVIEW_PACK_BUILT', because: 'Frozen outputs are never opened again; submit a new intent.' },
    { from: 'DONE',              to: 'RECEIVED',          because: 'A new intent is a new coordination, linked by lineage.' },
    { from: 'BLOCKED',           to: 'RECEIVED',          because: 'A mended intent is a new coordination, linked by lineage.' },
    { from: 'ABORTED',           to: 'RECEIVED',          because: 'A person has to look; what follows is a new coordination.' },
  ],
})

/** A state of a plan. */
export type CoordinationState = StateOf<typeof coordinationMachine>
/** A trigger of a plan. */
export type CoordinationTrigger = TriggerOf<typeof coordinationMachine>
/** A guard of a plan. */
export type CoordinationGuard = GuardOf<typeof coordinationMachine>
