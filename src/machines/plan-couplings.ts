/**
 * The rows of a coordination. Its moves follow from its input and its answers
 * alone, so that each is an append of its own; only what a person is asked, or
 * has to see, stands or falls with the move that calls for it.
 */
// biome-ignore format: tables are audited by eye, so their columns line up
export const planFrames = {
  plan_received_alone:    { by: 'command', moves: ['+session', '+coordination'], meaning: 'An intent is taken in; a plan that stands alone has a session of its own.' },
  plan_received:          { by: 'command', moves: ['+coordination'], meaning: 'An intent is taken in by a session that exists.' },

  plan_accepted:          { by: 'command', moves: ['coordination.intent_accepted'], meaning: 'The intent goes on to its checks.' },
  plan_checked:           { by: 'command', moves: ['coordination.validation_passed'], meaning: 'The intent is sound.' },
  plan_unsound:           { by: 'command', moves: ['coordination.validation_failed'], meaning: 'The intent is not sound.' },
  plan_over_red_line:     { by: 'command', moves: ['coordination.red_line_crossed', '+interaction'], meaning: 'The intent carries what could be executed; a person is told.' },
  plan_in_context:        { by: 'command', moves: ['coordination.context_ready'], meaning: 'Memory, facts and policy are there.' },
  plan_without_memory:    { by: 'command', moves: ['coordination.memory_pack_unavailable'], meaning: 'Memory, facts or policy are missing.' },
  plan_judged:            { by: 'command', moves: ['coordination.rules_adjudicated'], meaning: 'Every command has its verdict.' },
  plan_denied:            { by: 'command', moves: ['coordination.hard_rule_deny', '+interaction'], meaning: 'A rule forbids it outright; a person is told.' },
  plan_undecidable:       { by: 'command', moves: ['coordination.rules_undecidable'], meaning: 'The rules do not decide.' },
  plan_unclear:           { by: 'command', moves: ['coordination.uncertainties_policy_allows'], meaning: 'Something is uncertain, and may be asked.' },
  plan_clear:             { by: 'command', moves: ['coordination.no_questions_needed'], meaning: 'There is nothing to ask.' },
  plan_graph_invalid:     { by: 'command', moves: ['coordination.graph_invalid'], meaning: 'The graph cannot be a plan.' },
  plan_asked:             { by: 'command', moves: ['coordination.questions_emitted', '+interaction'], meaning: 'The questions are put to a person.' },
  plan_asks_too_much:     { by: 'command', moves: ['coordination.budget_exceeded'], meaning: 'More must be asked than may be.' },
  plan_answered:          { by: 'command', moves: ['coordination.answers_received'], meaning: 'The answers stand.' },
  plan_contradicted:      { by: 'command', moves: ['coordination.answer_conflicts'], meaning: 'The answers do not go with the rules; they are judged anew.' },
  plan_unanswered:        { by: 'command', moves: ['coordination.timeout_no_fallback'], meaning: 'There is no answer that could stand.' },
  plan_complete:          { by: 'command', moves: ['coordination.graph_complete'], meaning: 'The graph is complete.' },
  plan_incomplete:        { by: 'command', moves: ['coordination.graph_incomplete'], meaning: 'The graph is not complete.' },
  plan_written_up:        { by: 'command', moves: ['coordination.review_pack_ready'], meaning: 'The plan is written up for review.' },
  plan_over_budget:       { by: 'command', moves: ['coordination.budget_violated'], meaning: 'The plan costs more than it may.' },
  plan_frozen:            { by: 'command', moves: ['coordination.all_outputs_frozen'], meaning: 'The plan is frozen.' },
  plan_untraceable:       { by: 'command', moves: ['coordination.checksum_lineage_failed'], meaning: 'An output cannot be traced to what it came from.' },
  plan_malformed:         { by: 'command', moves: ['coordination.schema_violated', '+interaction'], meaning: 'An output violates its schema; a person is told.' },
} as const
