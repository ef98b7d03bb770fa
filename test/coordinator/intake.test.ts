import { expect, test } from 'vitest'
import { advance, begin } from '../../src/coordinator/engine.ts'
import { finalRedLines } from '../../src/coordinator/review.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  agent,
  answering,
  command,
  inputOf,
  intentOf,
  openQuestion,
  plan,
  planned,
  ports,
  registryOf,
  registryWith,
  rule,
  rulesOnly,
} from '../support/coordinator.ts'

test.each(['rejected', 'superseded'])('F-46 intake: an intent that is %s is not planned', (status) => {
  const { state, artifacts } = plan({ intent: intentOf((i) => ({ ...i, status })) })
  expect(state).toBe('BLOCKED')
  expect(artifacts.failure_pack).toMatchObject({
    cause: 'schema_invalid',
    problems: [{ path: 'status', message: expect.stringContaining(`is ${status}; only an intent that is draft`) }],
  })
})

test.each(['draft', 'proposed', 'approved'])('F-46 intake: an intent that is %s is planned', (status) => {
  expect(plan({ intent: intentOf((i) => ({ ...i, status })) }).state).toBe('DONE')
})

test('F-46 intake: an intent cannot talk away the review of a command that writes, by the registry', () => {
  const risk = { overall: 'medium', drivers: ['None.'], requires_review: [] }
  const intent = intentOf((i) => ({ ...i, risk, planned_commands: [planned('cmd_write', { effects: ['read'] })] }))
  const { state, artifacts } = plan({ intent })
  expect(state).toBe('BLOCKED')
  expect(artifacts.failure_pack?.problems).toMatchObject([{ path: 'risk.requires_review', refs: ['cmd_write'] }])
})

const asReleaser = { agent_id: 'agent_reader', role: 'releaser', responsibilities: ['Release.'] }
const releaserMay = rulesOnly(rule('rule_releaser', 'allow', 'context.role == "releaser"'))

test('CO-06 registry only: a role that the registry does not give the agent blocks, and the roles it has are named', () => {
  const intent = intentOf((i) => ({ ...i, selected_agents: [asReleaser] }))
  const { state, artifacts } = plan({ intent, registry: releaserMay })
  expect(state).toBe('BLOCKED')
  expect(artifacts.failure_pack).toMatchObject({
    cause: 'reference_missing',
    problems: [
      {
        path: 'selected_agents[0].role',
        message: 'agent agent_reader 1.0.0 has no role releaser; it has reader.',
        refs: ['agent_reader'],
      },
    ],
  })
  expect(artifacts.precheck_report?.red_lines[4]).toMatchObject({ red_line: 'RL5', verdict: 'crossed' })
})

test('CO-06 registry only: each role of the version that is meant may be taken, and no role of another version', () => {
  const versions = [
    agent('agent_reader', { roles: ['reader', 'releaser'] }),
    agent('agent_reader', {
      version: '1.1.0',
      roles: ['reader'],
      lineage: { parent_version: '1.0.0', change_reason: 'Less.' },
    }),
  ]
  const registry = registryWith(...versions)
  const as = (more: object) => intentOf((i) => ({ ...i, selected_agents: [{ ...asReleaser, ...more }] }))
  expect(plan({ registry, intent: as({ version: '1.0.0' }) }).state).toBe('DONE')
  expect(plan({ registry, intent: as({}) }).artifacts.failure_pack?.problems[0]?.message).toContain('1.1.0 has no role')
})

test('CO-06 registry only: RL5 sees an invented role again before the plan is frozen', () => {
  const progress = advance(begin(inputOf(), ports), ports)
  const graph = progress.artifacts.execution_graph as NonNullable<typeof progress.artifacts.execution_graph>
  const swimlanes = graph.swimlanes.map((lane) => ({ ...lane, role: 'releaser' }))
  expect(finalRedLines(progress, graph)[4]?.verdict).toBe('holds')
  expect(finalRedLines(progress, { ...graph, swimlanes })[4]).toMatchObject({
    verdict: 'crossed',
    reason: expect.stringContaining('agent agent_reader as releaser'),
  })
})

const problemsWith = (more: object) =>
  plan({ intent: intentOf((i) => ({ ...i, ...more })) }).artifacts.failure_pack?.problems

test('CO-20 intake: two questions with the same key are refused, with both positions', () => {
  expect(
    problemsWith({ open_questions: [openQuestion('one'), openQuestion('two'), openQuestion('one')] }),
  ).toMatchObject([{ path: 'open_questions[2].key', message: expect.stringContaining('has the key one, as [0] has') }])
})

test('CO-20 intake: a question under a key of the Coordinator, or of a planned command, is refused', () => {
  expect(problemsWith({ open_questions: [openQuestion('no_way_back')] })).toMatchObject([
    { path: 'open_questions[0].key' },
  ])
  const { evidence_refs: _, ...asks } = openQuestion('window')
  const registry = registryWith(command('cmd_scan', { asks: [asks] }))
  const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('window', { affects_steps: ['cmd_scan'] })] }))
  expect(plan({ registry, intent }).artifacts.failure_pack?.problems).toMatchObject([
    { path: 'open_questions[0].key', message: expect.stringContaining('planned_commands[1] asks') },
  ])
  expect(() => registryOf([command('cmd_two', { asks: [asks, asks] })])).toThrow(/has the key window, as \[0\] has/)
})

test('CO-20 intake: steps, workflows and agents that are there twice are refused, with both positions', () => {
  const twice = { agent_id: 'agent_reader', role: 'reader', responsibilities: ['Read.'] }
  const flow = { workflow_id: 'wf_change', phases: ['analysis'] }
  expect(
    problemsWith({
      planned_commands: [planned('cmd_read'), planned('cmd_scan'), planned('cmd_read')],
      selected_agents: [twice, twice],
      selected_workflows: [flow, flow],
    }),
  ).toMatchObject([
    { path: 'planned_commands[2]', message: expect.stringContaining('of [0]') },
    { path: 'selected_workflows[1]', message: expect.stringContaining('as [0]') },
    { path: 'selected_agents[1]', message: expect.stringContaining('as [0]') },
  ])
})

test('CO-20 intake: an answer that names a step that is not there is refused', () => {
  const effect = { drop_steps: ['cmd_none'], review_steps: ['cmd_nil'], set_risk: { cmd_null: 'low' } }
  const suggested_answers = [{ value: 'stop', answer_text: 'No.', rationale: 'So.', effect }]
  expect(problemsWith({ open_questions: [openQuestion('one', { suggested_answers })] })).toMatchObject([
    { path: 'open_questions[0].suggested_answers[0].effect.drop_steps', message: 'there is no step cmd_none' },
    { path: 'open_questions[0].suggested_answers[0].effect.review_steps', message: 'there is no step cmd_nil' },
    { path: 'open_questions[0].suggested_answers[0].effect.set_risk', message: 'there is no step cmd_null' },
  ])
})

test.each([' ', '\n', '\u200b', '\u3164', '\u2800', '\u00a0\u2007', '\u0301'])(
  'CO-06 evidence: %j is no reference',
  (ref) => {
    const { state, artifacts } = plan({
      intent: intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read', { evidence_refs: [ref] })] })),
    })
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack?.problems).toMatchObject([
      { path: 'planned_commands[0].evidence_refs[0]', message: 'must have a character that can be seen' },
    ])
  },
)

test('CO-06 evidence: the same reference twice counts once', () => {
  const registry = rulesOnly(rule('rule_two', 'allow', 'context.evidence_count >= 2'))
  const of = (evidence_refs: Json) =>
    intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read', { evidence_refs })] }))
  expect(plan({ registry, intent: of(['ev1', 'ticket_17']) }).state).toBe('DONE')
  expect(plan({ registry, intent: of(['ev1', 'ev1']) }).state).toBe('BLOCKED')
})

test.each([
  ['policy_default', 'choice'],
  ['policy_default', 'fallback'],
  ['fallback', 'choice'],
])('F-51 answers: one that claims to be provided by %s as a %s is refused', (provided_by, answer_type) => {
  const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('one')] }))
  const { waits_for } = plan({ intent })
  const { answer_pack } = answering(waits_for, { one: 'go' }) as { answer_pack: { answers: object[] } }
  const answers = answer_pack.answers.map((answer) => ({ ...answer, provided_by, answer_type }))
  const { state, refused_answers } = plan({ intent }, [{ answer_pack: { ...answer_pack, answers } as unknown as Json }])
  expect(state).toBe('AWAITING_ANSWERS')
  expect(refused_answers[0]?.problems).toMatchObject([
    { code: 'answer_claims_default', path: 'answers[0].provided_by' },
  ])
})
