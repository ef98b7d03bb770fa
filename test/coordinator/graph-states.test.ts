import { describe, expect } from 'vitest'
import { advance, arrive, begin } from '../../src/coordinator/engine.ts'
import {
  answering,
  inputOf,
  intentOf,
  openQuestion,
  plan,
  planned,
  ports,
  registryWith,
  until,
  workflow,
} from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

describe('Coordinator: GRAPH_DRAFTED', () => {
  scenario('CO-05', 'Phases, verdicts, gates and actions become a graph with lanes', () => {
    // GIVEN a parallel phase, a reviewed step and a review category, WHEN the graph is drafted
    const { artifacts, tape } = plan()
    const draft = artifacts.execution_graph_draft[0]
    // THEN each phase, each verdict, each action and each review has a node
    expect(draft?.nodes.map(({ node_id, node_type }) => `${node_type} ${node_id}`)).toEqual([
      'phase node_phase_001',
      'decision_point node_decide_001',
      'action_proposal node_action_001',
      'decision_point node_decide_002',
      'action_proposal node_action_002',
      'phase node_phase_002',
      'review_gate node_review_architecture',
      'decision_point node_decide_003',
      'review_gate node_gate_003',
      'action_proposal node_action_003',
    ])
    // AND the edges say what goes side by side and what waits for whom
    expect(
      draft?.edges.map(({ from_node, to_node, edge_type }) => `${from_node} ${edge_type} ${to_node}`).sort(),
    ).toEqual(
      [
        'node_phase_001 parallel node_decide_001',
        'node_phase_001 parallel node_decide_002',
        'node_decide_001 sequential node_action_001',
        'node_decide_002 sequential node_action_002',
        'node_action_001 sequential node_phase_002',
        'node_action_002 sequential node_phase_002',
        'node_phase_002 sequential node_review_architecture',
        'node_review_architecture sequential node_decide_003',
        'node_decide_003 sequential node_gate_003',
        'node_gate_003 conditional node_action_003',
      ].sort(),
    )
    // AND every agent has a lane
    expect(draft?.swimlanes.map(({ agent_id, role }) => [agent_id, role])).toEqual([
      ['agent_reader', 'reader'],
      ['agent_builder', 'builder'],
    ])
    expect(
      tape.entries
        .find(({ from_state }) => from_state === 'GRAPH_DRAFTED')
        ?.outputs_produced.map(({ artifact_type }) => artifact_type),
    ).toEqual(['execution_graph_draft'])
  })

  scenario('CO-05', 'Steps wait for their dependencies, and for a condition if one is given', () => {
    // GIVEN a parallel phase in which one step depends on another, and a step with a condition
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read'),
        planned('cmd_scan', { depends_on: ['cmd_read'], condition: 'the read found something' }),
      ],
    }))
    const edges = plan({ intent }).artifacts.execution_graph?.edges ?? []
    // THEN the edge says so
    expect(edges).toContainEqual(
      expect.objectContaining({ from_node: 'node_action_001', to_node: 'node_decide_002', edge_type: 'sequential' }),
    )
    expect(edges).toContainEqual(
      expect.objectContaining({
        from_node: 'node_decide_002',
        edge_type: 'conditional',
        condition: 'the read found something',
      }),
    )
    expect(edges.filter(({ edge_type }) => edge_type === 'parallel')).toEqual([])
  })

  scenario('CO-05', 'A graph that runs in a circle is blocked, and the circle is named', () => {
    // GIVEN steps that wait for each other; a step that waits for a later phase; phases in a circle
    const mutual = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read', { depends_on: ['cmd_scan'] }),
        planned('cmd_scan', { depends_on: ['cmd_read'] }),
      ],
    }))
    const later = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read', { depends_on: ['cmd_write'] }),
        planned('cmd_write', { effects: ['write'] }),
      ],
    }))
    const itself = intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read', { depends_on: ['cmd_read'] })] }))
    const circle = registryWith(
      workflow('wf_change', [
        { phase: 'analysis', commands: ['cmd_read', 'cmd_scan'], after: ['implementation'] },
        { phase: 'implementation', commands: ['cmd_write'] },
      ]),
    )
    for (const [change, nodes] of [
      [{ intent: mutual }, ['node_decide_001', 'node_action_001', 'node_decide_002', 'node_action_002']],
      [{ intent: later }, ['node_decide_001', 'node_action_001', 'node_phase_002', 'node_action_003']],
      [{ intent: itself }, ['node_decide_001', 'node_action_001']],
      [{ registry: circle }, ['node_phase_001', 'node_phase_002']],
    ] as const) {
      const { state, artifacts } = plan(change)
      // THEN it is blocked, and the nodes of the circle are named
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({ cause: 'graph_has_cycle', failed_at_state: 'GRAPH_DRAFTED' })
      const named = artifacts.failure_pack?.problems[0]?.refs ?? []
      expect(named.length).toBeGreaterThan(1)
      expect(nodes.filter((node) => named.includes(node)).length).toBeGreaterThan(1)
    }
  })

  scenario('CO-05', 'Phases that are not selected are passed through, and workflows follow one another', () => {
    // GIVEN a workflow with a fork, of which the middle is not selected, and a second workflow behind it
    const registry = registryWith(
      workflow('wf_change', [
        { phase: 'setup' },
        { phase: 'analysis', commands: ['cmd_read', 'cmd_scan'], after: ['setup'] },
        { phase: 'design', after: ['setup'] },
        { phase: 'implementation', commands: ['cmd_write'], after: ['analysis', 'design'] },
      ]),
      workflow('wf_after', [{ phase: 'postmortem' }]),
    )
    const intent = intentOf((i) => ({
      ...i,
      selected_workflows: [
        { workflow_id: 'wf_change', phases: ['setup', 'design', 'implementation'] },
        { workflow_id: 'wf_after', phases: ['postmortem'] },
      ],
      planned_commands: [],
    }))
    const edges = plan({ registry, intent }).artifacts.execution_graph?.edges.map(
      ({ from_node, to_node }) => `${from_node} ${to_node}`,
    )
    // THEN implementation follows design and, through analysis, setup; the second workflow follows the first
    expect(edges).toEqual([
      'node_phase_001 node_phase_002',
      'node_phase_001 node_phase_003',
      'node_phase_002 node_phase_003',
      'node_phase_003 node_phase_004',
      'node_phase_004 node_review_architecture',
    ])
  })
})

describe('Coordinator: GRAPH_FINALIZED', () => {
  const asking = intentOf((i) => ({
    ...i,
    open_questions: [
      openQuestion('scan_too', {
        affects_steps: ['cmd_scan'],
        suggested_answers: [
          {
            value: 'go',
            answer_text: 'Yes.',
            rationale: 'It helps.',
            effect: { review_steps: ['cmd_scan'], set_risk: { cmd_scan: 'high' } },
          },
          { value: 'stop', answer_text: 'No.', rationale: 'It does not.', effect: { drop_steps: ['cmd_scan'] } },
        ],
      }),
    ],
  }))

  scenario('CO-08', 'Answers are worked in: placeholders are gone, steps and risk follow the answer', () => {
    // GIVEN a plan with a question in it
    const waiting = plan({ intent: asking })
    expect(waiting.state).toBe('AWAITING_ANSWERS')
    expect(
      waiting.artifacts.execution_graph_draft[0]?.nodes.filter(({ node_type }) => node_type === 'question'),
    ).toHaveLength(1)
    // WHEN it is answered one way
    const go = plan({ intent: asking }, [answering(waiting.waits_for, { scan_too: 'go' })])
    // THEN the step is reviewed and riskier, the risk is computed again, and no question is left
    expect(go.state).toBe('DONE')
    expect(go.artifacts.execution_graph?.nodes.filter(({ node_type }) => node_type === 'question')).toEqual([])
    expect(go.artifacts.execution_graph?.nodes.find(({ node_id }) => node_id === 'node_gate_002')).toMatchObject({
      node_type: 'review_gate',
    })
    expect(go.artifacts.execution_graph?.nodes.find(({ node_id }) => node_id === 'node_action_002')).toMatchObject({
      risk_level: 'high',
    })
    expect(go.artifacts.risk_assessment.map(({ overall_risk }) => overall_risk)).toEqual(['medium', 'high'])
    expect(go.artifacts.execution_graph?.applied_answers).toMatchObject([
      {
        key: 'scan_too',
        value: 'go',
        provided_by: 'human',
        changed: ['cmd_scan is reviewed first', 'cmd_scan is of high risk'],
      },
    ])
    // WHEN it is answered the other way, THEN the step is gone and the edges have closed behind it
    const stop = plan({ intent: asking }, [answering(waiting.waits_for, { scan_too: 'stop' })])
    expect(stop.artifacts.execution_graph?.dropped_steps).toMatchObject([{ step_id: 'cmd_scan' }])
    expect(stop.artifacts.execution_graph?.nodes.some(({ step_ref }) => step_ref === 'cmd_scan')).toBe(false)
    // AND the tape says how the answers changed the plan
    expect(go.tape.decisions.find(({ decision_type }) => decision_type === 'answer_integration')?.outcome).toContain(
      'scan_too=go: cmd_scan is reviewed first',
    )
  })

  scenario('CO-08', 'An answer may lower a risk, but never below that of the registry', () => {
    // GIVEN an intent that puts the risk of two steps at high, and an answer that says low
    const lower = { set_risk: { cmd_scan: 'low', cmd_write: 'low' } }
    const suggested_answers = [{ value: 'calm', answer_text: 'It is calm.', rationale: 'I looked.', effect: lower }]
    const default_strategy = { action: 'use', value: 'calm', explanation: 'It is calm.' }
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_scan', { risk_level: 'high' }),
        planned('cmd_write', { effects: ['write'], risk_level: 'high' }),
      ],
      open_questions: [openQuestion('how_risky', { suggested_answers, default_strategy })],
    }))
    const { artifacts } = plan({ intent }, [{ timed_out: true }])
    // THEN the one is low, and the other is what its command is
    const risks = artifacts.execution_graph?.nodes.flatMap(({ step_ref, risk_level }) =>
      risk_level === undefined ? [] : [[step_ref, risk_level]],
    )
    expect(risks).toEqual([
      ['cmd_scan', 'low'],
      ['cmd_write', 'medium'],
    ])
  })

  scenario('CO-08', 'A graph with a question left in it is blocked', () => {
    // GIVEN an answered plan whose answer is lost before the graph is finalised
    const waiting = advance(begin(inputOf({ intent: asking }), ports), ports)
    const answered = until(
      'GRAPH_FINALIZED',
      arrive(waiting, [answering(waiting.artifacts.question_pack[0] ?? null, { scan_too: 'go' })], ports),
    )
    const forgetful = { ...answered, ledger: { ...answered.ledger, accepted: [] } }
    // WHEN it goes on
    const ended = advance(forgetful, ports)
    // THEN the placeholder stands in the way, by name
    expect(ended.state).toBe('BLOCKED')
    expect(ended.artifacts.failure_pack).toMatchObject({
      cause: 'graph_incomplete',
      failed_at_state: 'GRAPH_FINALIZED',
    })
    expect(ended.artifacts.failure_pack?.problems[0]).toMatchObject({
      code: 'no_placeholders',
      message: expect.stringContaining('node_q_'),
    })
  })
})
