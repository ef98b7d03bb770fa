import { expect } from 'vitest'
import { asking, commandEntry, contentWith, intentWith, question, step, usualMemory } from './support/plan-content.ts'
import { type Doc, judge } from './support/planning.ts'
import { scenario } from './support/scenario.ts'

interface Graph {
  readonly nodes: readonly (Doc & { node_id: string; node_type: string; evidence_refs?: readonly string[] })[]
  readonly edges: readonly { from_node: string; to_node: string }[]
  readonly swimlanes: readonly { agent_id: string; node_refs: readonly string[] }[]
}

scenario('CO-01', 'RECEIVED takes in any input, gives it an id and begins its tape', async () => {
  // GIVEN an intent, and things that are none
  const ids = new Set<string | null>()
  for (const intent of [intentWith(), { hello: 'world' }, 'words']) {
    const { view, tape } = await judge({ intent })
    expect(view.coordination_id).toMatch(/^coord_\w+/)
    expect(view.run_id).toMatch(/^coord_run_[0-9a-f]{32}$/)
    ids.add(view.run_id)
    // THEN the tape begins with it, and it always goes on to be checked, without a guard
    expect(tape.slice(0, 2)).toMatchObject([
      { sequence: 1, to_state: 'RECEIVED', guards_evaluated: [] },
      { sequence: 2, from_state: 'RECEIVED', to_state: 'PRECHECKED', guards_evaluated: [] },
    ])
  }
  expect(ids.size).toBe(3)
})

scenario(
  'CO-02',
  'PRECHECKED checks schema, checksum, red lines, references and versions, and reports each',
  async () => {
    const { made, tape } = await judge()
    const report = made.precheck_report as Doc & {
      schema_problems: readonly unknown[]
      checksum: { declared: string; computed: string }
      red_lines: readonly { red_line: string; verdict: string }[]
      registry: { confirmed: readonly { kind: string; id: string; version: string }[] }
    }
    expect(report.schema_problems).toEqual([])
    expect(report.checksum.declared).toBe(report.checksum.computed)
    expect(report.red_lines.map(({ red_line }) => red_line)).toEqual(['RL1', 'RL2', 'RL3', 'RL4', 'RL5'])
    expect(report.registry.confirmed.map(({ kind, id, version }) => `${kind} ${id} ${version}`)).toEqual(
      expect.arrayContaining(['command cmd_write 1.0.0', 'workflow wf_change 1.0.0', 'agent agent_reader 1.0.0']),
    )
    expect(tape.find(({ from_state }) => from_state === 'PRECHECKED')?.guards_evaluated).toMatchObject(
      [
        'intent_schema_valid',
        'checksum_matches',
        'red_lines_satisfied',
        'registry_references_active',
        'no_version_drift',
      ].map((guard_name) => ({ guard_name, passed: true })),
    )
    // AND what is wrong with each is told: every mistake of the shape, a broken seal, a missing reference, another version
    const wrong = await judge({
      intent: intentWith({ title: 'x', extra: true, risk: { overall: 'medium', drivers: [], requires_review: [] } }),
    })
    expect(wrong).toMatchObject({
      state: 'BLOCKED',
      failure: { cause: 'schema_invalid', failed_at_state: 'PRECHECKED' },
    })
    const paths = (wrong.failure as unknown as { problems: readonly { path: string }[] }).problems.map(
      ({ path }) => path,
    )
    expect(paths).toEqual(expect.arrayContaining(['title', 'risk.drivers']))
    const audit = { created_by: 'someone', source: 'human', checksum: 'b'.repeat(64) }
    for (const [intent, cause, guard] of [
      [intentWith({ audit }), 'checksum_mismatch', 'checksum_matches'],
      [intentWith({ planned_commands: [step('cmd_raed')] }), 'reference_missing', 'registry_references_active'],
      [intentWith({ planned_commands: [step('cmd_read', { version: '0.9.0' })] }), 'version_drift', 'no_version_drift'],
    ] as const) {
      const judged = await judge({ intent })
      expect(judged).toMatchObject({ state: 'BLOCKED', failure: { cause, failed_at_state: 'PRECHECKED' } })
      expect(judged.failing).toContain(guard)
    }
  },
)

scenario('CO-03', 'CONTEXT_BUILT makes one bundle of memory, facts and policy; memory is mandatory', async () => {
  const { made, tape } = await judge()
  expect(made.context_bundle).toMatchObject({
    memory_context: { memories: [{ id: 'mem_outage', content: 'It broke once.' }] },
    fact_pack: { project_id: 'shop', evidence: [{ id: 'ev1' }] },
    effective: { mode: 'interactive' },
  })
  expect(tape.find(({ from_state }) => from_state === 'CONTEXT_BUILT')?.guards_evaluated).toMatchObject([
    { guard_name: 'memory_pack_available', passed: true },
    { guard_name: 'fact_pack_available', passed: true },
    { guard_name: 'policy_loaded', passed: true },
  ])
  // AND without one of them there is no plan, and the reason is the true one
  for (const [change, cause, guard] of [
    [{ memory: null }, 'memory_unavailable', 'memory_pack_available'],
    [{ memory: { schema_version: '2.0.0' } }, 'memory_unavailable', 'memory_pack_available'],
    [
      {
        memory: { ...usualMemory, memories: [] },
        policy: { schema_version: '1.0.0', mode: 'interactive', min_memory_items: 1 },
      },
      'memory_unavailable',
      'memory_pack_available',
    ],
    [{ facts: null }, 'facts_unavailable', 'fact_pack_available'],
  ] as const) {
    const judged = await judge(change)
    expect(judged).toMatchObject({ state: 'BLOCKED', failure: { cause, failed_at_state: 'CONTEXT_BUILT' } })
    expect(judged.failing).toEqual([guard])
  }
})

scenario(
  'CO-04',
  'RULES_EVALUATED gives every planned command a verdict with reasons, and assesses the risk',
  async () => {
    const { made, tape } = await judge()
    const { decisions } = made.rule_decisions_1 as {
      decisions: readonly { step_id: string; decision: string; [reasons: string]: unknown }[]
    }
    expect(decisions.map(({ step_id, decision }) => [step_id, decision])).toEqual([
      ['cmd_read', 'allow'],
      ['cmd_scan', 'allow'],
      ['cmd_write', 'require_review'],
    ])
    // THEN each names the rules that spoke, and why
    for (const decision of decisions) expect(JSON.stringify(decision)).toContain('rule_known has its reasons.')
    expect(JSON.stringify(decisions[2])).toContain('rule_write has its reasons.')
    expect(made.risk_assessment_1).toMatchObject({ overall_risk: 'medium' })
    const move = tape.find(({ from_state }) => from_state === 'RULES_EVALUATED')
    expect(move?.guards_evaluated.map(({ guard_name }) => guard_name)).toEqual([
      'all_rules_decidable',
      'no_unresolvable_conflicts',
      'denies_have_reasons',
      'no_hard_denies',
    ])
  },
)

scenario(
  'CO-05',
  'GRAPH_DRAFTED makes a graph without cycles, with swimlanes, and evidence for every action',
  async () => {
    const { made } = await judge()
    const { nodes, edges, swimlanes } = made.execution_graph_draft_1 as Doc & Graph
    const actions = nodes.filter(({ node_type }) => node_type === 'action_proposal')
    expect(actions.map(({ command_ref }) => command_ref).toSorted()).toEqual(['cmd_read', 'cmd_scan', 'cmd_write'])
    for (const { evidence_refs } of actions) expect(evidence_refs?.length).toBeGreaterThan(0)
    // THEN taking away what nothing leads to, again and again, leaves nothing
    let left = new Set(nodes.map(({ node_id }) => node_id))
    for (;;) {
      const free = [...left].filter((id) => !edges.some((edge) => edge.to_node === id && left.has(edge.from_node)))
      if (free.length === 0) break
      left = new Set([...left].filter((id) => !free.includes(id)))
    }
    expect([...left]).toEqual([])
    // AND every node stands in a lane, and both agents have one
    expect(swimlanes.map(({ agent_id }) => agent_id)).toEqual(expect.arrayContaining(['agent_reader', 'agent_builder']))
    const placed = swimlanes.flatMap(({ node_refs }) => node_refs)
    expect(placed.toSorted()).toEqual(nodes.map(({ node_id }) => node_id).toSorted())
    // AND steps that wait for each other are no graph
    const circle = [step('cmd_read', { depends_on: ['cmd_scan'] }), step('cmd_scan', { depends_on: ['cmd_read'] })]
    expect(await judge({ intent: intentWith({ planned_commands: circle }) })).toMatchObject({
      state: 'BLOCKED',
      failure: { cause: 'graph_has_cycle', failed_at_state: 'GRAPH_DRAFTED' },
      failing: expect.arrayContaining(['graph_is_acyclic']),
    })
  },
)

const types = ['blocker', 'clarification', 'optimization', 'risk_mitigation']
const oneOfEach = types.map((type) => question(`a_${type}`, { type }))

scenario(
  'CO-06',
  'QUESTIONS_EMITTED asks the questions that mode and budget allow, each with evidence and a default',
  async () => {
    const asked = async (mode: string, question_budget: number) => {
      const interaction = { mode: 'interactive', question_budget, question_policy: 'conceptual_only' }
      const { view } = await judge({
        intent: intentWith({ open_questions: oneOfEach, interaction }),
        policy: { schema_version: '1.0.0', mode },
      })
      return view.waits_for?.question_pack.questions ?? []
    }
    // GIVEN one question of each type
    const all = await asked('interactive', 5)
    expect(all.map(({ type }) => type).toSorted()).toEqual(types.toSorted())
    for (const { evidence_refs, default_strategy, blocking_level } of all) {
      expect(evidence_refs).toEqual(['ticket_17'])
      expect(default_strategy).toMatchObject({ action: 'use', value: 'stop' })
      expect(blocking_level).toBe('high')
    }
    expect((await asked('semi_auto', 5)).map(({ key }) => key)).toEqual(['a_blocker'])
    expect(await asked('interactive', 2)).toHaveLength(2)
    // AND one that must be answered and has no room, or lacks evidence, blocks
    const none = { mode: 'interactive', question_budget: 1, question_policy: 'conceptual_only' }
    const critical = ['one', 'two'].map((key) => question(key, { blocking_level: 'critical' }))
    expect(await judge({ intent: intentWith({ open_questions: critical, interaction: none }) })).toMatchObject({
      state: 'BLOCKED',
      failure: { cause: 'question_budget_exceeded', failed_at_state: 'QUESTIONS_EMITTED' },
    })
    expect(await judge({ intent: asking(question('which', { evidence_refs: [] })) })).toMatchObject({
      state: 'BLOCKED',
      failure: { failed_at_state: 'QUESTIONS_EMITTED' },
      failing: expect.arrayContaining(['questions_have_evidence']),
    })
  },
)

scenario('CO-07', 'AWAITING_ANSWERS waits, validates answers, and handles timeouts', async () => {
  const intent = asking(question('must', { blocking_level: 'critical' }), question('may', { blocking_level: 'low' }))
  expect(await judge({ intent })).toMatchObject({ state: 'AWAITING_ANSWERS' })
  // WHEN an answer is none of those that there are, it is refused, and it waits on
  for (const [answers, says] of [
    [{ must: 'perhaps' }, /must.* takes go, stop, not perhaps/],
    [{ may: 'go' }, /must/],
  ] as const)
    await expect(judge({ intent, answers: [answers] })).rejects.toMatchObject({
      code: 'reply_unfit',
      message: expect.stringMatching(says),
    })
  // THEN with the critical one answered it goes on, and the other has its default
  const answered = await judge({ intent, answers: [{ must: 'go' }] })
  expect(answered).toMatchObject({
    state: 'DONE',
    made: {
      execution_graph: {
        applied_answers: [
          { key: 'must', value: 'go', provided_by: 'human' },
          { key: 'may', value: 'stop', provided_by: 'fallback' },
        ],
      },
    },
  })
  // AND when time runs out the defaults stand, or there is none and it is blocked
  expect(await judge({ intent, answers: [null] })).toMatchObject({
    state: 'DONE',
    made: { execution_graph: { applied_answers: [{ provided_by: 'fallback' }, { provided_by: 'fallback' }] } },
  })
  const noDefault = question('must', { default_strategy: { action: 'block', explanation: 'A person decides.' } })
  expect(await judge({ intent: asking(noDefault), answers: [null] })).toMatchObject({
    state: 'BLOCKED',
    failure: { cause: 'timed_out', failed_at_state: 'AWAITING_ANSWERS' },
  })
})

scenario(
  'CO-08',
  'GRAPH_FINALIZED works the answers in, leaves no placeholder, and assesses the risk again',
  async () => {
    const answers = [
      { value: 'write', answer_text: 'Do it.', rationale: 'It is wanted.' },
      { value: 'leave', answer_text: 'Leave it.', rationale: 'It is not.', effect: { drop_steps: ['cmd_write'] } },
    ]
    const default_strategy = { action: 'use', value: 'write', explanation: 'It was wanted.' }
    const intent = asking(
      question('which', { affects_steps: ['cmd_write'], suggested_answers: answers, default_strategy }),
    )
    const judged = await judge({ intent, answers: [{ which: 'leave' }] })
    const draft = judged.made.execution_graph_draft_1 as Doc & Graph
    const final = judged.made.execution_graph as Doc & Graph
    const isPlaceholder = ({ node_type }: { node_type: string }) => node_type.includes('question')
    // GIVEN a draft with a place for the answer THEN the final graph has none, and the step that was left is gone
    expect(draft.nodes.filter(isPlaceholder)).toHaveLength(1)
    expect(final.nodes.filter(isPlaceholder)).toEqual([])
    expect(draft.nodes.map(({ command_ref }) => command_ref)).toContain('cmd_write')
    expect(final.nodes.map(({ command_ref }) => command_ref)).not.toContain('cmd_write')
    expect(final).toMatchObject({
      dropped_steps: [{ step_id: 'cmd_write' }],
      applied_answers: [{ key: 'which', value: 'leave' }],
    })
    // AND the risk is that of what is left
    const risks = Object.entries(judged.made).filter(([name]) => name.startsWith('risk_assessment'))
    const stepsIn = risks.map(([, risk]) =>
      (risk as { factors: readonly { ref: string }[] }).factors.map(({ ref }) => ref).toSorted(),
    )
    expect(stepsIn).toEqual([
      ['cmd_read', 'cmd_scan', 'cmd_write', 'cmd_write', 'intent_rename_field'],
      ['cmd_read', 'cmd_scan', 'intent_rename_field'],
    ])
    expect(judged.tape.find(({ from_state }) => from_state === 'GRAPH_FINALIZED')?.guards_evaluated).toMatchObject([
      { guard_name: 'no_placeholders', passed: true },
      { guard_name: 'nodes_are_complete', passed: true },
      { guard_name: 'swimlanes_cover_nodes', passed: true },
    ])
  },
)

scenario('CO-09', 'REVIEW_PACK_BUILT writes up impact, rollback, review gates and budgets', async () => {
  const { made } = await judge()
  expect(made.review_pack).toMatchObject({
    change_impact: {
      files: { estimated: 2, allowed: 10, within: 'yes' },
      commits: { estimated: 1, allowed: 5 },
      tokens: { estimated: 7000, allowed: 100_000 },
      cost_usd: { estimated: 0.4, allowed: 5 },
    },
    rollback_guide: [{ step_id: 'cmd_write', instruction: 'Revert the commit.' }],
    review_gates: [{ category: 'architecture' }, { step_id: 'cmd_write' }],
    plan_summary: { estimated_duration_ms: 6000 },
    risk: { overall: 'medium' },
  })
  for (const [budget, less] of [
    ['max_files', 1],
    ['max_commits', 0],
    ['max_tokens', 6999],
    ['max_cost_usd', 0.39],
  ] as const) {
    const budgets = { max_files: 2, max_commits: 1, max_tokens: 7000, max_cost_usd: 0.4, [budget]: less }
    expect(await judge({ intent: intentWith({ budgets }) })).toMatchObject({
      state: 'BLOCKED',
      failure: { cause: 'budget_exceeded', failed_at_state: 'REVIEW_PACK_BUILT' },
      failing: ['impact_within_budgets'],
    })
  }
  const content = contentWith(
    commandEntry('cmd_write', { effects: ['write'], risk_level: 'medium', rollback: 'Undo.' }),
  )
  expect(
    await judge({
      content,
      intent: intentWith({ budgets: { max_files: 2, max_commits: 1, max_tokens: 7000, max_cost_usd: 0.4 } }),
    }),
  ).toMatchObject({ state: 'DONE' })
})

scenario('CO-11', 'DONE closes the tape and summarizes', async () => {
  const { state, made, tape, path } = await judge({ intent: asking(question('which')), answers: [{ which: 'go' }] })
  expect(state).toBe('DONE')
  expect(path.at(-1)).toBe('DONE')
  expect(made.run_tape).toMatchObject({ is_closed: true })
  expect(made.run_summary).toMatchObject({
    final_state: 'DONE',
    intent_id: 'intent_rename_field',
    actions: 3,
    questions_asked: 1,
    answers_applied: 1,
    review_gates: 2,
    overall_risk: 'medium',
  })
  expect(tape.at(-1)).toMatchObject({ from_state: 'FROZEN_OUTPUTS', trigger: 'all_outputs_frozen' })
})
