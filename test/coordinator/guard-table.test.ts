import { describe, expect, test } from 'vitest'
import { begin } from '../../src/coordinator/engine.ts'
import { givenOf } from '../../src/coordinator/given.ts'
import { answerGuards } from '../../src/coordinator/guards/awaiting-answers.ts'
import { contextGuards } from '../../src/coordinator/guards/context-built.ts'
import { frozenGuards } from '../../src/coordinator/guards/frozen-outputs.ts'
import { draftGuards } from '../../src/coordinator/guards/graph-drafted.ts'
import { finalGuards } from '../../src/coordinator/guards/graph-finalized.ts'
import { precheckGuards } from '../../src/coordinator/guards/prechecked.ts'
import { questionGuards } from '../../src/coordinator/guards/questions-emitted.ts'
import { reviewGuards } from '../../src/coordinator/guards/review-pack-built.ts'
import { ruleGuards } from '../../src/coordinator/guards/rules-evaluated.ts'
import type { Finding } from '../../src/coordinator/reading.ts'
import type { Question } from '../../src/coordinator/schemas/question-pack.ts'
import { guardNames } from '../../src/kernel/machine.ts'
import { transition } from '../../src/kernel/transition.ts'
import { type CoordinationGuard, coordinationMachine } from '../../src/machines/coordination.ts'
import { inputOf, intentOf, openQuestion, plan, ports, until } from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

const done = plan()
const asking = plan({ intent: intentOf((i) => ({ ...i, open_questions: [openQuestion('which_way')] })) })
const given = givenOf(until('RULES_EVALUATED', begin(inputOf(), ports)))

const report = must(done.artifacts.precheck_report)
const decisions = must(done.artifacts.rule_decisions[0]).decisions
const graph = must(done.artifacts.execution_graph)
const review = must(done.artifacts.review_pack)
const lineage = must(done.artifacts.lineage)
const pack = must(asking.artifacts.question_pack[0])
const question = must(pack.questions[0])
const recorded = done.tape.entries.slice(0, -1).flatMap(({ outputs_produced }) => outputs_produced)
const { lineage: _, run_summary: __, ...before } = done.artifacts

const wrong = [{ code: 'x', message: 'Something is wrong.' }]
const first = <T extends object>(list: readonly T[], change: object): T[] =>
  list.map((one, i) => (i === 0 ? { ...one, ...change } : one))
const nodes = (type: string, change: object) => ({
  ...graph,
  nodes: graph.nodes.map((n) => (n.node_type === type ? { ...n, ...change } : n)),
})
const governed = (more: { ask?: Question[]; stuck?: Question[]; overflow?: Question[] }) => ({
  ask: [],
  settled: [],
  stuck: [],
  overflow: [],
  ...more,
})
const draft = { graph, intent: given.intent, governed: governed({}) }
const final = { graph, steps: ['cmd_read', 'cmd_scan', 'cmd_write'] }
const frozen = {
  artifacts: before,
  recorded,
  lineage,
  used: [{ kind: 'command' as const, id: 'cmd_read', version: '1.0.0' }],
  sha256: ports.sha256,
}
const asked = { pack, governed: { overflow: [] }, given }
const answered = { problems: [], unsettled: [], conflicts: [], returns: 0 }
const conflict = {
  round: 1,
  question_id: question.question_id,
  key: 'which_way',
  value: 'go',
  step_id: 'cmd_read',
  reason: 'No.',
}

/** Each guard: once as it holds, and every way in which it does not. */
const cases: { readonly [G in CoordinationGuard]: { holds: Finding; fails: readonly Finding[] } } = {
  intent_schema_valid: {
    holds: precheckGuards.intent_schema_valid(report),
    fails: [precheckGuards.intent_schema_valid({ ...report, schema_problems: wrong })],
  },
  checksum_matches: {
    holds: precheckGuards.checksum_matches(report),
    fails: [null, 'b'.repeat(64)].map((declared) =>
      precheckGuards.checksum_matches({ ...report, checksum: { ...report.checksum, declared } }),
    ),
  },
  red_lines_satisfied: {
    holds: precheckGuards.red_lines_satisfied(report),
    fails: [
      precheckGuards.red_lines_satisfied({ ...report, policy_problems: wrong }),
      ...report.red_lines.map((_, i) =>
        precheckGuards.red_lines_satisfied({
          ...report,
          red_lines: report.red_lines.map((line, j) =>
            i === j ? { ...line, verdict: 'crossed' as const, problems: wrong } : line,
          ),
        }),
      ),
      ...review.red_lines.flatMap((_, i) =>
        (['crossed', 'not_evaluated'] as const).map((verdict) =>
          reviewGuards.red_lines_satisfied({
            ...review,
            red_lines: review.red_lines.map((line, j) => (i === j ? { ...line, verdict } : line)),
          }),
        ),
      ),
    ],
  },
  registry_references_active: {
    holds: precheckGuards.registry_references_active(report),
    fails: [
      precheckGuards.registry_references_active({ ...report, registry: { ...report.registry, problems: wrong } }),
    ],
  },
  no_version_drift: {
    holds: precheckGuards.no_version_drift(report),
    fails: [precheckGuards.no_version_drift({ ...report, registry: { ...report.registry, drift: wrong } })],
  },
  memory_pack_available: {
    holds: contextGuards.memory_pack_available({ memory: [], facts: wrong, policy: wrong }),
    fails: [contextGuards.memory_pack_available({ memory: wrong, facts: [], policy: [] })],
  },
  fact_pack_available: {
    holds: contextGuards.fact_pack_available({ memory: wrong, facts: [], policy: wrong }),
    fails: [contextGuards.fact_pack_available({ memory: [], facts: wrong, policy: [] })],
  },
  policy_loaded: {
    holds: contextGuards.policy_loaded({ memory: wrong, facts: wrong, policy: [] }),
    fails: [contextGuards.policy_loaded({ memory: [], facts: [], policy: wrong })],
  },
  all_rules_decidable: {
    holds: ruleGuards.all_rules_decidable({ decisions, breaches: [] }),
    fails: [ruleGuards.all_rules_decidable({ decisions: first(decisions, { decision: null }), breaches: [] })],
  },
  no_unresolvable_conflicts: {
    holds: ruleGuards.no_unresolvable_conflicts({ decisions, breaches: [] }),
    fails: [
      ruleGuards.no_unresolvable_conflicts({
        decisions: first(decisions, { conflict: { allowed_by: ['rule_a'], denied_by: ['rule_b'] } }),
        breaches: [],
      }),
    ],
  },
  denies_have_reasons: {
    holds: ruleGuards.denies_have_reasons({ decisions: first(decisions, { decision: 'deny' }), breaches: [] }),
    fails: [
      ruleGuards.denies_have_reasons({
        decisions: first(decisions, {
          decision: 'deny',
          matched_rules: first(must(decisions[0]).matched_rules, { reason: ' ' }),
        }),
        breaches: [],
      }),
    ],
  },
  no_hard_denies: {
    holds: ruleGuards.no_hard_denies({ decisions: first(decisions, { decision: 'deny' }), breaches: [] }),
    fails: [
      ruleGuards.no_hard_denies({ decisions: first(decisions, { is_hard_deny: true }), breaches: [] }),
      ruleGuards.no_hard_denies({ decisions, breaches: wrong }),
    ],
  },
  graph_is_acyclic: {
    holds: draftGuards.graph_is_acyclic(draft),
    fails: [
      draftGuards.graph_is_acyclic({
        ...draft,
        graph: {
          ...graph,
          edges: [
            ...graph.edges,
            { edge_id: 'edge_9999', from_node: 'node_action_003', to_node: 'node_phase_001', edge_type: 'sequential' },
          ],
        },
      }),
    ],
  },
  phases_are_mapped: {
    holds: draftGuards.phases_are_mapped(draft),
    fails: [
      draftGuards.phases_are_mapped({ ...draft, graph: nodes('phase', { phase_ref: 'setup' }) }),
      draftGuards.phases_are_mapped({ ...draft, graph: nodes('action_proposal', { step_ref: 'cmd_read' }) }),
      draftGuards.phases_are_mapped({ ...draft, graph: { ...graph, edges: graph.edges.slice(1) } }),
    ],
  },
  agents_have_swimlanes: {
    holds: draftGuards.agents_have_swimlanes(draft),
    fails: [draftGuards.agents_have_swimlanes({ ...draft, graph: { ...graph, swimlanes: graph.swimlanes.slice(1) } })],
  },
  actions_have_evidence: {
    holds: draftGuards.actions_have_evidence(draft),
    fails: [
      draftGuards.actions_have_evidence({ ...draft, graph: nodes('action_proposal', { evidence_refs: [] }) }),
      draftGuards.actions_have_evidence({ ...draft, graph: nodes('action_proposal', { evidence_refs: undefined }) }),
    ],
  },
  uncertainties_exist: {
    holds: draftGuards.uncertainties_exist({ ...draft, governed: governed({ ask: [question] }) }),
    fails: [draftGuards.uncertainties_exist(draft)],
  },
  policy_allows_questions: {
    holds: draftGuards.policy_allows_questions({ ...draft, governed: governed({ ask: [question] }) }),
    fails: [
      draftGuards.policy_allows_questions(draft),
      draftGuards.policy_allows_questions({ ...draft, governed: governed({ ask: [question], stuck: [question] }) }),
    ],
  },
  nothing_to_ask: {
    holds: draftGuards.nothing_to_ask(draft),
    fails: [{ ask: [question] }, { stuck: [question] }, { overflow: [question] }].map((more) =>
      draftGuards.nothing_to_ask({ ...draft, governed: governed(more) }),
    ),
  },
  question_budget_kept: {
    holds: questionGuards.question_budget_kept(asked),
    fails: [
      questionGuards.question_budget_kept({ ...asked, governed: { overflow: [question] } }),
      questionGuards.question_budget_kept({
        ...asked,
        pack: { ...pack, policy_constraints: { ...pack.policy_constraints, budget_remaining: -1 } },
      }),
    ],
  },
  questions_have_evidence: {
    holds: questionGuards.questions_have_evidence(asked),
    fails: [
      questionGuards.questions_have_evidence({
        ...asked,
        pack: { ...pack, questions: first(pack.questions, { evidence_refs: [] }) },
      }),
    ],
  },
  questions_have_defaults: {
    holds: questionGuards.questions_have_defaults(asked),
    fails: [
      { action: 'use', value: 'unheard_of', explanation: 'x' },
      { action: 'block', explanation: '' },
    ].map((default_strategy) =>
      questionGuards.questions_have_defaults({
        ...asked,
        pack: { ...pack, questions: first(pack.questions, { default_strategy }) },
      }),
    ),
  },
  blocking_levels_fit_policy: {
    holds: questionGuards.blocking_levels_fit_policy(asked),
    fails: ['semi_auto', 'full_auto'].map((mode) =>
      questionGuards.blocking_levels_fit_policy({
        ...asked,
        pack: { ...pack, questions: first(pack.questions, { type: 'optimization' }) },
        given: {
          ...given,
          context: { ...given.context, effective: { ...given.context.effective, mode: mode as 'semi_auto' } },
        },
      }),
    ),
  },
  answers_fit_schema: {
    holds: answerGuards.answers_fit_schema(answered),
    fails: [answerGuards.answers_fit_schema({ ...answered, problems: wrong })],
  },
  critical_questions_answered: {
    holds: answerGuards.critical_questions_answered({ ...answered, problems: wrong }),
    fails: [
      answerGuards.critical_questions_answered({ ...answered, unsettled: [question] }),
      answerGuards.critical_questions_answered({
        ...answered,
        problems: [{ code: 'critical_question_unanswered', message: 'x' }],
      }),
    ],
  },
  no_answer_conflicts: {
    holds: answerGuards.no_answer_conflicts(answered),
    fails: [answerGuards.no_answer_conflicts({ ...answered, conflicts: [conflict] })],
  },
  conflict_rounds_left: {
    holds: answerGuards.conflict_rounds_left({ ...answered, returns: 2 }),
    fails: [answerGuards.conflict_rounds_left({ ...answered, returns: 3 })],
  },
  no_placeholders: {
    holds: finalGuards.no_placeholders(final),
    fails: [finalGuards.no_placeholders({ ...final, graph: nodes('phase', { node_type: 'question' }) })],
  },
  nodes_are_complete: {
    holds: finalGuards.nodes_are_complete(final),
    fails: [
      ...['step_ref', 'command_ref', 'command_version', 'effects', 'risk_level', 'evidence_refs'].map((field) =>
        finalGuards.nodes_are_complete({ ...final, graph: nodes('action_proposal', { [field]: undefined }) }),
      ),
      finalGuards.nodes_are_complete({ ...final, graph: nodes('decision_point', { rule_refs: [] }) }),
      finalGuards.nodes_are_complete({ ...final, graph: { ...graph, nodes: graph.nodes.slice(0, -1) } }),
      finalGuards.nodes_are_complete({ ...final, steps: [...final.steps, 'cmd_more'] }),
    ],
  },
  swimlanes_cover_nodes: {
    holds: finalGuards.swimlanes_cover_nodes(final),
    fails: [
      finalGuards.swimlanes_cover_nodes({ ...final, graph: { ...graph, swimlanes: graph.swimlanes.slice(1) } }),
      finalGuards.swimlanes_cover_nodes({
        ...final,
        graph: { ...graph, swimlanes: [...graph.swimlanes, ...graph.swimlanes] },
      }),
    ],
  },
  review_categories_satisfied: {
    holds: reviewGuards.review_categories_satisfied(review),
    fails: [
      reviewGuards.review_categories_satisfied({ ...review, requires_review: ['security'] }),
      reviewGuards.review_categories_satisfied({
        ...review,
        review_gates: first(review.review_gates, { criteria: [] }),
      }),
    ],
  },
  impact_within_budgets: {
    holds: reviewGuards.impact_within_budgets(review),
    fails: (['files', 'commits', 'tokens', 'cost_usd'] as const).map((what) =>
      reviewGuards.impact_within_budgets({
        ...review,
        change_impact: { ...review.change_impact, [what]: { ...review.change_impact[what], within: 'no' } },
      }),
    ),
  },
  risk_is_justified: {
    holds: reviewGuards.risk_is_justified(review),
    fails: [
      { justification: [] },
      { overall: 'low' },
      { overall: 'critical' },
      { justification: first(review.risk.justification, { evidence_refs: [] }) },
    ].map((change) => reviewGuards.risk_is_justified({ ...review, risk: { ...review.risk, ...(change as object) } })),
  },
  outputs_have_checksums: {
    holds: frozenGuards.outputs_have_checksums(frozen),
    fails: [
      frozenGuards.outputs_have_checksums({ ...frozen, recorded: recorded.slice(1) }),
      frozenGuards.outputs_have_checksums({
        ...frozen,
        artifacts: { ...before, review_pack: { ...review, pack_id: 'other' } },
      }),
    ],
  },
  lineage_is_complete: {
    holds: frozenGuards.lineage_is_complete(frozen),
    fails: [
      frozenGuards.lineage_is_complete({ ...frozen, used: [{ kind: 'command', id: 'cmd_read', version: '2.0.0' }] }),
      frozenGuards.lineage_is_complete({ ...frozen, lineage: { ...lineage, outputs: [] } }),
      frozenGuards.lineage_is_complete({ ...frozen, lineage: { ...lineage, derived_from_intent: null } }),
    ],
  },
  outputs_fit_schema: {
    holds: frozenGuards.outputs_fit_schema(frozen),
    fails: [
      frozenGuards.outputs_fit_schema({
        ...frozen,
        artifacts: { ...before, execution_graph: { ...graph, stage: 'other' as 'final' } },
      }),
    ],
  },
}

describe('The guard table', () => {
  for (const guard of guardNames(coordinationMachine))
    scenario('CO-15', `${guard} holds, fails where it should, and keeps the state from being left`, () => {
      // GIVEN the guard's own readings, THEN it holds once and fails in each of its ways, always with a reason
      const { holds, fails } = cases[guard]
      expect(holds).toMatchObject({ holds: true, reason: expect.stringMatching(/\w/) })
      expect(fails.length).toBeGreaterThan(0)
      for (const fail of fails) expect(fail).toMatchObject({ holds: false, reason: expect.stringMatching(/\w/) })
      // AND every edge that names it is refused when it alone does not hold
      const edges = coordinationMachine.transitions.filter(({ when }) => when?.includes(guard))
      expect(edges.length).toBeGreaterThan(0)
      for (const { from, on, to, when = [] } of edges) {
        const all = Object.fromEntries(when.map((name) => [name, true]))
        expect(transition(coordinationMachine, from, on, all)).toMatchObject({ allowed: true, to })
        expect(transition(coordinationMachine, from, on, { ...all, [guard]: false })).toMatchObject({
          allowed: false,
          refusal: 'guarded',
        })
      }
    })

  test('RECEIVED is left without any guard', () => {
    expect(coordinationMachine.transitions.filter(({ from }) => from === 'RECEIVED')).toMatchObject([
      { to: 'PRECHECKED' },
    ])
    expect(coordinationMachine.transitions.find(({ from }) => from === 'RECEIVED')?.when).toBeUndefined()
  })
})

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('It must be there.')
  return value
}
