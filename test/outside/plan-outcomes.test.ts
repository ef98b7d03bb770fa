import type { Json } from 'statewright'
import { expect } from 'vitest'
import {
  agentEntry,
  asking,
  commandEntry,
  contentRuledBy,
  contentWith,
  type Entry,
  fullAuto,
  intentWith,
  question,
  ruleEntry,
  step,
} from './support/plan-content.ts'
import { type Doc, type Judging, judge } from './support/planning.ts'
import { scenario } from './support/scenario.ts'

const policyWith = (more: Entry): Json => ({ schema_version: '1.0.0', mode: 'interactive', ...more })
const only = (...planned_commands: readonly Entry[]) => intentWith({ planned_commands })
const allow = ruleEntry('rule_ok', 'allow', 'context.risk >= 0')
const highRisk = { overall: 'high', drivers: ['It is new.'], requires_review: ['security'] }
const remote = contentWith(agentEntry('agent_builder', { model: { provider: 'cloud', locality: 'remote' } }))

interface Failure {
  readonly recovery_suggestions: readonly string[]
  readonly problems: readonly { message: string }[]
}

const blocked: readonly (readonly [what: string, Judging, type: string, cause: string])[] = [
  ['a reference that is missing', { intent: only(step('cmd_raed')) }, 'missing_registry', 'reference_missing'],
  [
    'content that is not active',
    { content: contentWith(commandEntry('cmd_scan', { status: 'deprecated' })) },
    'missing_registry',
    'reference_inactive',
  ],
  [
    'an operation that the policy forbids',
    { policy: policyWith({ constraints: { forbidden_operations: ['write'] } }) },
    'policy_violation',
    'operation_forbidden',
  ],
  [
    'full automation of high risk',
    { intent: intentWith({ ...fullAuto, risk: highRisk }) },
    'policy_violation',
    'full_auto_risk',
  ],
  [
    'a budget that is exceeded',
    { intent: intentWith({ budgets: { max_files: 0, max_commits: 5, max_tokens: 900_000, max_cost_usd: 9 } }) },
    'constraint_violation',
    'budget_exceeded',
  ],
  ['no memory', { memory: null }, 'constraint_violation', 'memory_unavailable'],
  [
    'a graph with a cycle',
    { intent: only(step('cmd_read', { depends_on: ['cmd_read'] })) },
    'constraint_violation',
    'graph_has_cycle',
  ],
  [
    'rules that cannot decide',
    { content: contentRuledBy(ruleEntry('rule_none', 'allow', 'context.risk > 99')) },
    'constraint_violation',
    'rules_undecidable',
  ],
]

scenario('CO-12', 'BLOCKED is reached on each of its conditions, with suggestions for recovery', async () => {
  const ways = new Set<string>()
  for (const [what, judging, failure_type, cause] of blocked) {
    const { state, made, view, tape, failing } = await judge(judging)
    expect({ what, state, failure: made.failure_pack }).toMatchObject({
      what,
      state: 'BLOCKED',
      failure: { outcome: 'BLOCKED', failure_type, cause, needs_person: false },
    })
    const { recovery_suggestions, problems } = made.failure_pack as Doc & Failure
    expect(recovery_suggestions.length).toBeGreaterThan(0)
    for (const suggestion of recovery_suggestions) expect(suggestion).toMatch(/\w+ \w+/)
    ways.add(recovery_suggestions[0] ?? '')
    expect(problems.length).toBeGreaterThan(0)
    // AND a guard that did not hold is on record, the failure is on the tape and in the audit log, and there is no plan
    expect(failing.length).toBeGreaterThan(0)
    expect(tape.at(-1)?.outputs_produced.at(-1)).toMatchObject({ artifact_type: 'failure_pack' })
    expect(made.run_tape).toMatchObject({ is_closed: true, failure_info: { cause } })
    const { entries } = made.audit_log as { entries: readonly Doc[] }
    expect(entries.at(-1)).toMatchObject({ event_type: 'run_failed' })
    expect(made.run_summary).toBeUndefined()
    expect(view.failure).toMatchObject({ cause })
  }
  // AND each condition has a way out of its own
  expect(ways.size).toBe(blocked.length)
})

scenario(
  'CO-12',
  'a rule that denies a command that may be left out does so, and the plan goes on without it',
  async () => {
    const deny = ruleEntry('rule_no', 'deny', 'resource == Command::"cmd_scan"')
    const { state, made } = await judge({ content: contentRuledBy(allow, deny) })
    expect(state).toBe('DONE')
    expect(made.execution_graph).toMatchObject({ dropped_steps: [{ step_id: 'cmd_scan', rule_refs: ['rule_no'] }] })
  },
)

const denyScan = (severity: string) => ruleEntry('rule_no', 'deny', 'resource == Command::"cmd_scan"', severity)

const aborted: readonly (readonly [what: string, Judging, type: string, cause: string])[] = [
  [
    'something that executes',
    { intent: { ...intentWith(), execute: 'rm -rf /' } },
    'red_line_violation',
    'execution_payload',
  ],
  ['a hard deny', { content: contentRuledBy(allow, denyScan('block')) }, 'rule_denied', 'rule_denied'],
  [
    'a deny of a command of high risk',
    { content: contentRuledBy(allow, denyScan('warn')), intent: only(step('cmd_scan', { risk_level: 'high' })) },
    'rule_denied',
    'rule_denied',
  ],
  [
    'rules in conflict',
    {
      content: contentRuledBy(ruleEntry('rule_must', 'allow', 'context.risk >= 0', 'block'), denyScan('block')),
    },
    'rule_denied',
    'rule_conflict',
  ],
  [
    'a model that the policy forbids',
    { content: remote, policy: policyWith({ model_routing: { local_only: true } }) },
    'policy_violation',
    'model_routing_breach',
  ],
]

scenario('CO-13', 'ABORTED is reached on each of its conditions, with a critical audit entry', async () => {
  for (const [what, judging, failure_type, cause] of aborted) {
    const { state, made, failing } = await judge(judging)
    expect({ what, state, failure: made.failure_pack }).toMatchObject({
      what,
      state: 'ABORTED',
      failure: { outcome: 'ABORTED', failure_type, cause, needs_person: true },
    })
    expect(failing.length).toBeGreaterThan(0)
    const { entries } = made.audit_log as { entries: readonly Doc[] }
    expect(entries.at(-1)).toMatchObject({ event_type: 'run_failed', severity: 'critical' })
    expect(made.execution_graph).toBeUndefined()
  }
  // AND on the other side of each line there is a plan
  for (const judging of [{}, { content: contentRuledBy(allow, denyScan('error')) }, { content: remote }])
    expect((await judge(judging)).state).toBe('DONE')
})

const noEvidence = question('which', { evidence_refs: [] })
const noBudget = { mode: 'interactive', question_budget: 1, question_policy: 'conceptual_only' }
const twoCritical = ['one', 'two'].map((key) => question(key, { blocking_level: 'critical' }))

/** One line for each row of the table of guards: an input that makes it fail, the action that follows, and the guards that are read. */
const rows: readonly {
  readonly move: string
  readonly guards: readonly string[]
  readonly fails: readonly (readonly [Judging, state: string, guard: string])[]
}[] = [
  { move: 'RECEIVED → PRECHECKED', guards: [], fails: [] },
  {
    move: 'PRECHECKED → CONTEXT_BUILT',
    guards: ['intent_schema_valid', 'checksum_matches', 'registry_references_active', 'red_lines_satisfied'],
    fails: [
      [{ intent: intentWith({ title: 7 }) }, 'BLOCKED', 'intent_schema_valid'],
      [
        { intent: intentWith({ audit: { created_by: 'x', source: 'human', checksum: 'c'.repeat(64) } }) },
        'BLOCKED',
        'checksum_matches',
      ],
      [{ intent: only(step('cmd_gone')) }, 'BLOCKED', 'registry_references_active'],
      [{ intent: intentWith({ ...fullAuto, risk: highRisk }) }, 'BLOCKED', 'red_lines_satisfied'],
    ],
  },
  {
    move: 'CONTEXT_BUILT → RULES_EVALUATED',
    guards: ['memory_pack_available', 'fact_pack_available'],
    fails: [
      [{ memory: null }, 'BLOCKED', 'memory_pack_available'],
      [{ facts: null }, 'BLOCKED', 'fact_pack_available'],
    ],
  },
  {
    move: 'RULES_EVALUATED → GRAPH_DRAFTED',
    guards: ['all_rules_decidable', 'no_hard_denies'],
    fails: [
      [
        { content: contentRuledBy(ruleEntry('rule_none', 'allow', 'context.risk > 99')) },
        'BLOCKED',
        'all_rules_decidable',
      ],
      [{ content: contentRuledBy(allow, denyScan('block')) }, 'ABORTED', 'no_hard_denies'],
    ],
  },
  { move: 'GRAPH_DRAFTED → QUESTIONS_EMITTED', guards: ['policy_allows_questions', 'uncertainties_exist'], fails: [] },
  {
    move: 'QUESTIONS_EMITTED → AWAITING_ANSWERS',
    guards: ['question_budget_kept', 'questions_have_evidence'],
    fails: [
      [
        { intent: intentWith({ open_questions: twoCritical, interaction: noBudget }) },
        'BLOCKED',
        'question_budget_kept',
      ],
      [{ intent: asking(noEvidence) }, 'BLOCKED', 'questions_have_evidence'],
    ],
  },
  { move: 'AWAITING_ANSWERS → GRAPH_FINALIZED', guards: ['answers_fit_schema', 'no_answer_conflicts'], fails: [] },
  { move: 'GRAPH_FINALIZED → REVIEW_PACK_BUILT', guards: ['no_placeholders', 'nodes_are_complete'], fails: [] },
  {
    move: 'REVIEW_PACK_BUILT → FROZEN_OUTPUTS',
    guards: ['impact_within_budgets', 'review_categories_satisfied'],
    fails: [
      [
        { intent: intentWith({ budgets: { max_files: 1, max_commits: 5, max_tokens: 90_000, max_cost_usd: 9 } }) },
        'BLOCKED',
        'impact_within_budgets',
      ],
    ],
  },
  { move: 'FROZEN_OUTPUTS → DONE', guards: ['outputs_have_checksums', 'lineage_is_complete'], fails: [] },
]

scenario(
  'CO-15',
  'every row of the guard table holds: its guards are read, and each that fails has its action',
  async () => {
    // GIVEN a plan that passes every row, with a question on its way
    const { state, tape } = await judge({ intent: asking(question('which')), answers: [{ which: 'go' }] })
    expect(state).toBe('DONE')
    for (const { move, guards, fails } of rows) {
      const entry = tape.find(({ from_state, to_state }) => `${from_state} → ${to_state}` === move)
      // THEN each of its guards is on record as holding, with a reason
      const held = new Map(
        entry?.guards_evaluated.map(({ guard_name, passed, reason }) => [guard_name, { passed, reason }]),
      )
      for (const guard of guards)
        expect({ move, guard, ...held.get(guard) }).toMatchObject({ passed: true, reason: expect.stringMatching(/\w/) })
      if (guards.length === 0) expect(entry?.guards_evaluated).toEqual([])
      // AND where it does not hold, what the row says is done, in that very move
      for (const [judging, ends, guard] of fails) {
        const judged = await judge(judging)
        const [from] = move.split(' → ')
        expect({ guard, state: judged.state, from: judged.tape.at(-1)?.from_state }).toEqual({
          guard,
          state: ends,
          from,
        })
        expect(judged.failing).toContain(guard)
      }
    }
    // AND the two rows that choose a way: no question where there is none to ask, or none may be asked
    expect((await judge()).path).not.toContain('QUESTIONS_EMITTED')
    const silent = await judge({ intent: intentWith({ ...fullAuto, open_questions: [question('which')] }) })
    expect(silent.path).not.toContain('QUESTIONS_EMITTED')
    expect(silent.tape.find(({ from_state }) => from_state === 'GRAPH_DRAFTED')).toMatchObject({
      to_state: 'GRAPH_FINALIZED',
    })
  },
)

const noProduction = contentRuledBy(
  allow,
  ruleEntry('rule_no_production', 'deny', 'context.answers.contains("target=production")'),
)
const target = question('target', {
  suggested_answers: [
    { value: 'production', answer_text: 'Production.', rationale: 'It is real.' },
    { value: 'staging', answer_text: 'Staging.', rationale: 'It is safe.' },
  ],
  default_strategy: { action: 'use', value: 'staging', explanation: 'Staging is safe.' },
})

scenario(
  'CO-16',
  'answers that conflict lead back to the rules three times, then to BLOCKED; there is no other way back',
  async () => {
    const wrong = { target: 'production' }
    const order = [
      ...['RECEIVED', 'PRECHECKED', 'CONTEXT_BUILT', 'RULES_EVALUATED', 'GRAPH_DRAFTED', 'QUESTIONS_EMITTED'],
      ...['AWAITING_ANSWERS', 'GRAPH_FINALIZED', 'REVIEW_PACK_BUILT', 'FROZEN_OUTPUTS', 'DONE'],
    ]
    for (const rounds of [0, 1, 2, 3]) {
      // WHEN so many answers go against the rules, and then one does not
      const answers = [...Array(rounds).fill(wrong), { target: 'staging' }]
      const { state, tape } = await judge({ content: noProduction, intent: asking(target), answers })
      expect(state).toBe('DONE')
      // THEN it went back so often, each time from the answers to the rules, and never elsewhere
      const back = tape.filter(({ from_state, to_state }) => order.indexOf(to_state) < order.indexOf(from_state))
      expect(back.map(({ from_state, to_state, trigger }) => `${from_state} → ${to_state} ${trigger}`)).toEqual(
        Array(rounds).fill('AWAITING_ANSWERS → RULES_EVALUATED answer_conflicts'),
      )
    }
    // AND the fourth is the end
    const { state, failure, failing } = await judge({
      content: noProduction,
      intent: asking(target),
      answers: Array(4).fill(wrong),
    })
    expect({ state, failure }).toMatchObject({ state: 'BLOCKED', failure: { failed_at_state: 'AWAITING_ANSWERS' } })
    expect(failing).toEqual(expect.arrayContaining(['conflict_rounds_left']))
    expect(JSON.stringify(failure)).toContain('rule_no_production')
  },
)
