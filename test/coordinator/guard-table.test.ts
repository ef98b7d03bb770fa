import { describe, expect, test } from 'vitest'
import { begin } from '../../src/coordinator/engine.ts'
import { givenOf } from '../../src/coordinator/given.ts'
import type { GuardTable } from '../../src/coordinator/guard-table.ts'
import type { Question } from '../../src/coordinator/schemas/questions.ts'
import { answerGuards, questionGuards } from '../../src/coordinator/states/asking.ts'
import { draftGuards, finalGuards } from '../../src/coordinator/states/drawing.ts'
import { frozenGuards, reviewGuards } from '../../src/coordinator/states/freezing.ts'
import { contextGuards, ruleGuards } from '../../src/coordinator/states/judging.ts'
import { precheckGuards } from '../../src/coordinator/states/prechecked.ts'
import { type Finding, guardNames } from '../../src/kernel/machine.ts'
import { transition } from '../../src/kernel/transition.ts'
import { type CoordinationGuard, coordinationFacts, coordinationMachine } from '../../src/machines/coordination.ts'
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

/** The predicates of a table, by the names of their guards. */
const byName = <F>(table: GuardTable<F>): Record<CoordinationGuard, GuardTable<F>[number][1]> =>
  Object.fromEntries(table)
const answerGuard = byName(answerGuards)
const contextGuard = byName(contextGuards)
const frozenGuard = byName(frozenGuards)
const draftGuard = byName(draftGuards)
const finalGuard = byName(finalGuards)
const precheckGuard = byName(precheckGuards)
const questionGuard = byName(questionGuards)
const reviewGuard = byName(reviewGuards)
const ruleGuard = byName(ruleGuards)

const wrong = [{ code: 'x', message: 'Something is wrong.' }]
const first = <T extends object>(list: readonly T[], change: object): T[] =>
  list.map((one, i) => (i === 0 ? { ...one, ...change } : one))
const nodes = (type: string, change: object) => ({
  ...graph,
  nodes: graph.nodes.map((n) => (n.node_type === type ? { ...n, ...change } : n)),
})
const governed = (more: { ask?: Question[]; stuck?: Question[]; overflow?: Question[] }) => ({
  ask: [],
  inForce: [],
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
const answered = { problems: [], unanswered: [], withdrawn: false, conflicts: [], all: [], returns: 0 }
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
    holds: precheckGuard.intent_schema_valid(report),
    fails: [precheckGuard.intent_schema_valid({ ...report, schema_problems: wrong })],
  },
  checksum_matches: {
    holds: precheckGuard.checksum_matches(report),
    fails: [null, 'b'.repeat(64)].map((declared) =>
      precheckGuard.checksum_matches({ ...report, checksum: { ...report.checksum, declared } }),
    ),
  },
  red_lines_satisfied: {
    holds: precheckGuard.red_lines_satisfied(report),
    fails: [
      precheckGuard.red_lines_satisfied({ ...report, policy_problems: wrong }),
      ...report.red_lines.map((_, i) =>
        precheckGuard.red_lines_satisfied({
          ...report,
          red_lines: report.red_lines.map((line, j) =>
            i === j ? { ...line, verdict: 'crossed' as const, problems: wrong } : line,
          ),
        }),
      ),
      ...review.red_lines.flatMap((_, i) =>
        (['crossed', 'not_evaluated'] as const).map((verdict) =>
          reviewGuard.red_lines_satisfied({
            ...review,
            red_lines: review.red_lines.map((line, j) => (i === j ? { ...line, verdict } : line)),
          }),
        ),
      ),
    ],
  },
  registry_references_active: {
    holds: precheckGuard.registry_references_active(report),
    fails: [precheckGuard.registry_references_active({ ...report, registry: { ...report.registry, problems: wrong } })],
  },
  no_version_drift: {
    holds: precheckGuard.no_version_drift(report),
    fails: [precheckGuard.no_version_drift({ ...report, registry: { ...report.registry, drift: wrong } })],
  },
  memory_pack_available: {
    holds: contextGuard.memory_pack_available({ memory: [], facts: wrong, policy: wrong }),
    fails: [contextGuard.memory_pack_available({ memory: wrong, facts: [], policy: [] })],
  },
  fact_pack_available: {
    holds: contextGuard.fact_pack_available({ memory: wrong, facts: [], policy: wrong }),
    fails: [contextGuard.fact_pack_available({ memory: [], facts: wrong, policy: [] })],
  },
  policy_loaded: {
    holds: contextGuard.policy_loaded({ memory: wrong, facts: wrong, policy: [] }),
    fails: [contextGuard.policy_loaded({ memory: [], facts: [], policy: wrong })],
  },
  all_rules_decidable: {
    holds: ruleGuard.all_rules_decidable({ decisions, breaches: [] }),
    fails: [ruleGuard.all_rules_decidable({ decisions: first(decisions, { decision: null }), breaches: [] })],
  },
  no_unresolvable_conflicts: {
    holds: ruleGuard.no_unresolvable_conflicts({ decisions, breaches: [] }),
    fails: [
      ruleGuard.no_unresolvable_conflicts({
        decisions: first(decisions, { conflict: { allowed_by: ['rule_a'], denied_by: ['rule_b'] } }),
        breaches: [],
      }),
    ],
  },
  denies_have_reasons: {
    holds: ruleGuard.denies_have_reasons({ decisions: first(decisions, { decision: 'deny' }), breaches: [] }),
    fails: [
      ruleGuard.denies_have_reasons({
        decisions: first(decisions, {
          decision: 'deny',
          matched_rules: first(must(decisions[0]).matched_rules, { reason: ' ' }),
        }),
        breaches: [],
      }),
    ],
  },
  no_hard_denies: {
    holds: ruleGuard.no_hard_denies({ decisions: first(decisions, { decision: 'deny' }), breaches: [] }),
    fails: [
      ruleGuard.no_hard_denies({ decisions: first(decisions, { is_hard_deny: true }), breaches: [] }),
      ruleGuard.no_hard_denies({ decisions, breaches: wrong }),
    ],
  },
  graph_is_acyclic: {
    holds: draftGuard.graph_is_acyclic(draft),
    fails: [
      draftGuard.graph_is_acyclic({
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
    holds: draftGuard.phases_are_mapped(draft),
    fails: [
      draftGuard.phases_are_mapped({ ...draft, graph: nodes('phase', { phase_ref: 'setup' }) }),
      draftGuard.phases_are_mapped({ ...draft, graph: nodes('action_proposal', { step_ref: 'cmd_read' }) }),
      draftGuard.phases_are_mapped({ ...draft, graph: { ...graph, edges: graph.edges.slice(1) } }),
    ],
  },
  agents_have_swimlanes: {
    holds: draftGuard.agents_have_swimlanes(draft),
    fails: [draftGuard.agents_have_swimlanes({ ...draft, graph: { ...graph, swimlanes: graph.swimlanes.slice(1) } })],
  },
  actions_have_evidence: {
    holds: draftGuard.actions_have_evidence(draft),
    fails: [
      draftGuard.actions_have_evidence({ ...draft, graph: nodes('action_proposal', { evidence_refs: [] }) }),
      draftGuard.actions_have_evidence({ ...draft, graph: nodes('action_proposal', { evidence_refs: undefined }) }),
    ],
  },
  uncertainties_exist: {
    holds: draftGuard.uncertainties_exist({ ...draft, governed: governed({ ask: [question] }) }),
    fails: [draftGuard.uncertainties_exist(draft)],
  },
  policy_allows_questions: {
    holds: draftGuard.policy_allows_questions({ ...draft, governed: governed({ ask: [question] }) }),
    fails: [
      draftGuard.policy_allows_questions(draft),
      draftGuard.policy_allows_questions({ ...draft, governed: governed({ ask: [question], stuck: [question] }) }),
    ],
  },
  nothing_to_ask: {
    holds: draftGuard.nothing_to_ask(draft),
    fails: [{ ask: [question] }, { stuck: [question] }, { overflow: [question] }].map((more) =>
      draftGuard.nothing_to_ask({ ...draft, governed: governed(more) }),
    ),
  },
  question_budget_kept: {
    holds: questionGuard.question_budget_kept(asked),
    fails: [
      questionGuard.question_budget_kept({ ...asked, governed: { overflow: [question] } }),
      questionGuard.question_budget_kept({
        ...asked,
        pack: { ...pack, policy_constraints: { ...pack.policy_constraints, budget_remaining: -1 } },
      }),
    ],
  },
  questions_have_evidence: {
    holds: questionGuard.questions_have_evidence(asked),
    fails: [
      questionGuard.questions_have_evidence({
        ...asked,
        pack: { ...pack, questions: first(pack.questions, { evidence_refs: [] }) },
      }),
    ],
  },
  questions_have_defaults: {
    holds: questionGuard.questions_have_defaults(asked),
    fails: [
      { action: 'use', value: 'unheard_of', explanation: 'x' },
      { action: 'block', explanation: '' },
    ].map((default_strategy) =>
      questionGuard.questions_have_defaults({
        ...asked,
        pack: { ...pack, questions: first(pack.questions, { default_strategy }) },
      }),
    ),
  },
  blocking_levels_fit_policy: {
    holds: questionGuard.blocking_levels_fit_policy(asked),
    fails: ['semi_auto', 'full_auto'].map((mode) =>
      questionGuard.blocking_levels_fit_policy({
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
    holds: answerGuard.answers_fit_schema(answered),
    fails: [answerGuard.answers_fit_schema({ ...answered, problems: wrong })],
  },
  critical_questions_answered: {
    holds: answerGuard.critical_questions_answered({ ...answered, problems: wrong }),
    fails: [
      answerGuard.critical_questions_answered({ ...answered, unanswered: [question] }),
      answerGuard.critical_questions_answered({
        ...answered,
        problems: [{ code: 'critical_question_unanswered', message: 'x' }],
      }),
    ],
  },
  no_answer_conflicts: {
    holds: answerGuard.no_answer_conflicts(answered),
    fails: [answerGuard.no_answer_conflicts({ ...answered, conflicts: [conflict] })],
  },
  conflict_rounds_left: {
    holds: answerGuard.conflict_rounds_left({ ...answered, returns: 2 }),
    fails: [answerGuard.conflict_rounds_left({ ...answered, returns: 3 })],
  },
  no_placeholders: {
    holds: finalGuard.no_placeholders(final),
    fails: [finalGuard.no_placeholders({ ...final, graph: nodes('phase', { node_type: 'question' }) })],
  },
  nodes_are_complete: {
    holds: finalGuard.nodes_are_complete(final),
    fails: [
      ...['step_ref', 'command_ref', 'command_version', 'effects', 'risk_level', 'evidence_refs'].map((field) =>
        finalGuard.nodes_are_complete({ ...final, graph: nodes('action_proposal', { [field]: undefined }) }),
      ),
      finalGuard.nodes_are_complete({ ...final, graph: nodes('decision_point', { rule_refs: [] }) }),
      finalGuard.nodes_are_complete({ ...final, graph: { ...graph, nodes: graph.nodes.slice(0, -1) } }),
      finalGuard.nodes_are_complete({ ...final, steps: [...final.steps, 'cmd_more'] }),
    ],
  },
  swimlanes_cover_nodes: {
    holds: finalGuard.swimlanes_cover_nodes(final),
    fails: [
      finalGuard.swimlanes_cover_nodes({ ...final, graph: { ...graph, swimlanes: graph.swimlanes.slice(1) } }),
      finalGuard.swimlanes_cover_nodes({
        ...final,
        graph: { ...graph, swimlanes: [...graph.swimlanes, ...graph.swimlanes] },
      }),
    ],
  },
  review_categories_satisfied: {
    holds: reviewGuard.review_categories_satisfied(review),
    fails: [
      reviewGuard.review_categories_satisfied({ ...review, requires_review: ['security'] }),
      reviewGuard.review_categories_satisfied({
        ...review,
        review_gates: first(review.review_gates, { criteria: [] }),
      }),
    ],
  },
  impact_within_budgets: {
    holds: reviewGuard.impact_within_budgets(review),
    fails: (['files', 'commits', 'tokens', 'cost_usd'] as const).map((what) =>
      reviewGuard.impact_within_budgets({
        ...review,
        change_impact: { ...review.change_impact, [what]: { ...review.change_impact[what], within: 'no' } },
      }),
    ),
  },
  risk_is_justified: {
    holds: reviewGuard.risk_is_justified(review),
    fails: [
      { justification: [] },
      { overall: 'low' },
      { overall: 'critical' },
      { justification: first(review.risk.justification, { evidence_refs: [] }) },
    ].map((change) => reviewGuard.risk_is_justified({ ...review, risk: { ...review.risk, ...(change as object) } })),
  },
  outputs_have_checksums: {
    holds: frozenGuard.outputs_have_checksums(frozen),
    fails: [
      frozenGuard.outputs_have_checksums({ ...frozen, recorded: recorded.slice(1) }),
      frozenGuard.outputs_have_checksums({
        ...frozen,
        artifacts: { ...before, review_pack: { ...review, pack_id: 'other' } },
      }),
    ],
  },
  lineage_is_complete: {
    holds: frozenGuard.lineage_is_complete(frozen),
    fails: [
      frozenGuard.lineage_is_complete({ ...frozen, used: [{ kind: 'command', id: 'cmd_read', version: '2.0.0' }] }),
      frozenGuard.lineage_is_complete({ ...frozen, lineage: { ...lineage, outputs: [] } }),
      frozenGuard.lineage_is_complete({ ...frozen, lineage: { ...lineage, derived_from_intent: null } }),
    ],
  },
  outputs_fit_schema: {
    holds: frozenGuard.outputs_fit_schema(frozen),
    fails: [
      frozenGuard.outputs_fit_schema({
        ...frozen,
        artifacts: { ...before, execution_graph: { ...graph, stage: 'other' as 'final' } },
      }),
    ],
  },
}

describe('Coordinator: guard table', () => {
  for (const guard of guardNames(coordinationMachine))
    scenario('CO-15', `${guard} holds, fails where it should, and keeps the state from being left`, () => {
      // GIVEN the guard's own readings, THEN it holds once and fails in each of its ways, always with a reason
      const { holds, fails } = cases[guard]
      expect(holds).toMatchObject({ holds: true, because: expect.stringMatching(/\w/) })
      expect(fails.length).toBeGreaterThan(0)
      for (const fail of fails) expect(fail).toMatchObject({ holds: false, because: expect.stringMatching(/\w/) })
      // AND every edge that names it is refused when it alone does not hold
      const edges = coordinationMachine.transitions.filter(({ when }) => when?.includes(guard))
      expect(edges.length).toBeGreaterThan(0)
      for (const { from, on, to, when = [] } of edges) {
        const read = (guard_name: string, passed: boolean) => ({
          guard_name,
          passed,
          reason: `${guard_name} was read.`,
        })
        const all = when.map((name) => read(name, true))
        const decide = (guards: typeof all) => transition(coordinationMachine, from, on, coordinationFacts(guards))
        expect(decide(all)).toMatchObject({ allowed: true, to })
        expect(decide(all).readings).toContainEqual({ guard, holds: true, because: `${guard} was read.` })
        const others = all.filter(({ guard_name }) => guard_name !== guard)
        for (const guards of [others, [...others, read(guard, false)]]) expect(decide(guards).allowed).toBe(false)
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
