import { describe, expect, test } from 'vitest'
import { coordinatorJsonSchemas } from '../../src/coordinator/schemas/all.ts'
import { policyFields } from '../../src/coordinator/schemas/context.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  answering,
  command,
  intentOf,
  openQuestion,
  plan,
  planned,
  policyWith,
  registryWith,
  rule,
} from '../support/coordinator.ts'

const lowRisk = { overall: 'low', drivers: ['None.'], requires_review: ['architecture'] }

/** Asks whether the scan stays in the plan. */
const stays = openQuestion('scan', {
  affects_steps: ['cmd_scan'],
  suggested_answers: [
    { value: 'go', answer_text: 'Yes.', rationale: 'It is wanted.' },
    { value: 'stop', answer_text: 'No.', rationale: 'It is not.', effect: { drop_steps: ['cmd_scan'] } },
  ],
})

const asking = (...open_questions: readonly Json[]) =>
  intentOf((i) => ({ ...i, open_questions: [...open_questions], risk: lowRisk }))

describe('F-42 risk', () => {
  const registry = registryWith(command('cmd_scan', { risk_level: 'high' }))

  test('F-42 risk: a step that an answer took out neither raises nor justifies the risk of the plan', () => {
    const intent = asking(stays)
    const { waits_for } = plan({ intent, registry })
    const risk = (scan: string) =>
      plan({ intent, registry }, [answering(waits_for, { scan })]).artifacts.review_pack?.risk
    expect(risk('go')?.overall).toBe('high')
    expect(risk('stop')?.overall).toBe('medium')
    expect(
      risk('stop')
        ?.justification.map(({ reason }) => reason)
        .join(),
    ).not.toContain('cmd_scan')
  })

  test('F-42 risk: a default that takes a step out counts like an answer, and so does a step that depends on it', () => {
    const intent = intentOf((i) => ({
      ...i,
      open_questions: [stays],
      risk: lowRisk,
      planned_commands: [
        planned('cmd_read', { depends_on: ['cmd_scan'], risk_level: 'critical' }),
        planned('cmd_scan'),
      ],
    }))
    const { artifacts } = plan({ intent, registry, policy: policyWith({ question_budget: 0 }) })
    expect(artifacts.execution_graph?.dropped_steps.map(({ step_id }) => step_id)).toEqual(['cmd_read', 'cmd_scan'])
    expect(artifacts.review_pack?.risk.overall).toBe('low')
    expect(artifacts.risk_assessment.map(({ overall_risk }) => overall_risk)).toEqual(['low', 'low'])
  })

  test('F-42 risk: of two answers that restate the risk of a step, the higher one counts everywhere', () => {
    const restates = (key: string, level: string) =>
      openQuestion(key, {
        affects_steps: ['cmd_read'],
        suggested_answers: [
          { value: 'go', answer_text: 'Yes.', rationale: 'So.', effect: { set_risk: { cmd_read: level } } },
          { value: 'stop', answer_text: 'No.', rationale: 'So.' },
        ],
      })
    const intent = asking(restates('first', 'high'), restates('second', 'low'))
    const { waits_for } = plan({ intent })
    const { artifacts } = plan({ intent }, [answering(waits_for, { first: 'go', second: 'go' })])
    const node = artifacts.execution_graph?.nodes.find(({ node_id }) => node_id === 'node_action_001')
    expect(node?.risk_level).toBe('high')
    expect(artifacts.review_pack?.risk.overall).toBe('high')
  })
})

describe('F-43 file budget', () => {
  const five = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts']
  const impact = (files: readonly string[], estimates: readonly (number | null)[]) => {
    const steps = estimates.map((files, i) =>
      command(`cmd_w${i}`, { effects: ['write'], rollback: 'Undo.', estimate: files === null ? {} : { files } }),
    )
    const intent = intentOf((i) => ({
      ...i,
      scope: { ...(i.scope as object), targets: { files: [...files], modules: [], areas: [] } },
      planned_commands: steps.map(({ id }) => planned(String(id), { effects: ['write'] })),
      budgets: { max_files: 20, max_commits: 50, max_tokens: 100_000, max_cost_usd: 5 },
    }))
    const policy = policyWith({ constraints: { allow_bulk_changes: true } })
    const { state, artifacts } = plan({ intent, registry: registryWith(...steps), policy })
    return { state, ...artifacts.review_pack?.change_impact.files }
  }

  test.each([null, 5])(
    'F-43 file budget: five steps over the same five files take five files (estimate: %s)',
    (each) => {
      const files = impact(five, [each, each, each, each, each])
      expect(files).toMatchObject({ state: 'DONE', estimated: 5, within: 'yes' })
      expect(files.basis?.map(({ amount }) => amount)).toEqual([5, 0, 0, 0, 0])
      expect(files.basis?.[1]?.source).toContain('5 of them are counted for an earlier step')
    },
  )

  test('F-43 file budget: files of a step that the intent does not target count for that step', () => {
    expect(impact(five, [7, 8, 2])).toMatchObject({ estimated: 10 })
    expect(impact(five, [2, 2, 2])).toMatchObject({ estimated: 5 })
    expect(impact([], [12, 12])).toMatchObject({ state: 'BLOCKED', estimated: 24, within: 'no' })
  })

  test('F-43 file budget: a file that is named twice is one file', () => {
    expect(impact(['a.ts', './a.ts', 'src/../a.ts', 'src//b.ts', 'src/b.ts'], [null])).toMatchObject({ estimated: 2 })
  })

  test('F-43 file budget: a step that writes files which no one names is not estimated', () => {
    expect(impact([], [null])).toMatchObject({ estimated: null, within: 'not_evaluated', not_estimated: ['cmd_w0'] })
  })
})

describe('F-44 policy', () => {
  const problemsWith = (more: object) => plan({ policy: policyWith(more) }).artifacts.failure_pack?.problems

  test.each(['require_verification', 'max_retries', 'timeout_seconds'])(
    'F-44 policy: %s is about executing a plan and is refused by name, with the fields there are',
    (field) => {
      const [problem] = problemsWith({ [field]: 1 }) ?? []
      expect(problem?.code).toBe('policy_invalid')
      expect(problem?.message).toContain(`Unknown field "${field}"`)
      expect(problem?.message).toMatch(/Known fields: schema_version, mode, .*metadata\./)
      expect(problem?.message).toContain(`${field}: `)
    },
  )

  test('F-44 policy: an unknown field is refused by name in every part of the policy', () => {
    expect(problemsWith({ constraints: { allow_destructve: true } })?.[0]).toMatchObject({
      path: 'policy.constraints',
      message:
        'Unknown field "allow_destructve". Known fields: max_files_per_commit, forbidden_operations, allow_destructive, allow_bulk_changes.',
    })
  })

  test('F-44 policy: a command that cannot be undone is planned only if allow_destructive says so', () => {
    const gone = command('cmd_scan', { irreversible: true, effects: ['data'] })
    const registry = registryWith(gone)
    const failure = plan({ registry }).artifacts.failure_pack
    expect(failure).toMatchObject({
      outcome: 'BLOCKED',
      failure_type: 'policy_violation',
      cause: 'operation_forbidden',
    })
    expect(failure?.problems[0]?.message).toContain('allow_destructive is false')
    const allowed = plan({ registry, policy: policyWith({ constraints: { allow_destructive: true } }) })
    expect(allowed.artifacts.failure_pack).toBeUndefined()
    // One that can be undone is not destructive.
    expect(plan({ registry: registryWith({ ...gone, rollback: 'Undo it.' }) }).state).toBe('DONE')
  })

  test('F-44 policy: more files in one commit than max_files_per_commit need allow_bulk_changes', () => {
    const registry = registryWith(
      command('cmd_write', { effects: ['write'], rollback: 'Undo.', estimate: { files: 7, commits: 1 } }),
    )
    const measured = (more: object) => {
      const { state, artifacts } = plan({ registry, policy: policyWith(more) })
      return { state, ...artifacts.review_pack?.change_impact.files_per_commit }
    }
    expect(measured({})).toMatchObject({ state: 'BLOCKED', estimated: 7, allowed: 5, within: 'no' })
    expect(measured({ risk_profile: 'aggressive_safe' })).toMatchObject({ state: 'DONE', allowed: 50, within: 'yes' })
    expect(measured({ constraints: { max_files_per_commit: 7 } })).toMatchObject({ state: 'DONE', allowed: 7 })
    expect(measured({ constraints: { allow_bulk_changes: true } })).toMatchObject({ state: 'DONE', allowed: null })
    const [problem] = plan({ registry }).artifacts.failure_pack?.problems ?? []
    expect(problem?.message).toContain('files_per_commit 7 of 5')
  })

  test('F-44 intent: a lock is refused, since nothing takes one; none, or no word of it, is not', () => {
    const locking = (lock_scope?: Json) =>
      plan({
        intent: intentOf((i) => {
          const { lock_scope: _, ...rest } = i.constraints as { [key: string]: Json }
          return { ...i, constraints: lock_scope === undefined ? rest : { ...rest, lock_scope } }
        }),
      })
    expect(locking().state).toBe('DONE')
    expect(locking({ mode: 'none', paths: [] }).state).toBe('DONE')
    for (const lock of [
      { mode: 'files', paths: ['a.ts'] },
      { mode: 'task', paths: [] },
      { mode: 'none', paths: ['a'] },
    ])
      expect(locking(lock).artifacts.failure_pack?.problems[0]).toMatchObject({
        path: expect.stringContaining('constraints.lock_scope'),
        message: expect.stringContaining('must be { mode: none, paths: [] } or left out'),
      })
  })
})

describe('policy names', () => {
  const forbidding = (...forbidden_operations: readonly string[]) =>
    plan({ policy: policyWith({ constraints: { forbidden_operations: [...forbidden_operations] } }) })

  test('policy: a forbidden operation that is no effect and no command blocks the plan, and the names are listed', () => {
    const { state, artifacts } = forbidding('data', 'deplyo', 'cmd_deploy', 'Write', ' write')
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack).toMatchObject({ cause: 'policy_invalid', failed_at_state: 'CONTEXT_BUILT' })
    expect(artifacts.failure_pack?.problems.map(({ path }) => path)).toEqual(
      [1, 3, 4].map((i) => `policy.constraints.forbidden_operations[${i}]`),
    )
    expect(artifacts.failure_pack?.problems[0]?.message).toBe(
      'The policy forbids the unknown operation "deplyo". Name an effect (read, write, network, deploy, security, data) or a command of the registry (cmd_deploy, cmd_read, cmd_scan, cmd_write).',
    )
  })

  test('policy: names of effects and of commands that are not planned, retired ones too, block nothing', () => {
    expect(forbidding('data', 'network', 'cmd_deploy').state).toBe('DONE')
    const registry = registryWith(command('cmd_old', { status: 'deprecated' }))
    const policy = policyWith({ constraints: { forbidden_operations: ['cmd_old'] } })
    expect(plan({ registry, policy }).state).toBe('DONE')
  })

  test('policy: a long name, and a registry with many commands, make no long message', () => {
    const many = Array.from({ length: 300 }, (_, i) => command(`cmd_n${i}`))
    const policy = policyWith({ constraints: { forbidden_operations: ['\u{1f512}'.repeat(100_000)] } })
    const [problem] = plan({ registry: registryWith(...many), policy }).artifacts.failure_pack?.problems ?? []
    expect(problem?.message.length).toBeLessThan(1_000)
    expect(problem?.message).toMatch(/…".* and 264 more\)/)
  })
})

describe('phases', () => {
  const figures = (scan: 'go' | 'stop', phases: readonly string[]) => {
    const intent = intentOf((i) => ({
      ...i,
      open_questions: [stays],
      risk: lowRisk,
      selected_workflows: [{ workflow_id: 'wf_change', phases: [...phases] }],
      planned_commands: [planned('cmd_scan'), planned('cmd_write', { effects: ['write'], risk_level: 'medium' })],
    }))
    const { waits_for } = plan({ intent })
    const { artifacts } = plan({ intent }, [answering(waits_for, { scan })])
    return artifacts.review_pack?.plan_summary
  }

  test('review pack: a phase whose steps were all taken out counts in no figure', () => {
    const both = figures('go', ['analysis', 'implementation'])
    expect(both).toMatchObject({ actions: 2, phases: 2 })
    const alone = figures('stop', ['analysis', 'implementation'])
    expect(alone).toMatchObject({ actions: 1, phases: 1, dropped_steps: [{ step_id: 'cmd_scan' }] })
    // The reader has nothing left to do, and meets no one.
    expect(both?.complexity_score).toBeGreaterThanOrEqual((alone?.complexity_score ?? 0) + 5)
  })

  test('review pack: a phase in which no step is planned does not count either', () => {
    expect(figures('go', ['analysis', 'implementation', 'release'])).toMatchObject({ actions: 2, phases: 2 })
  })
})

test('run summary: defaults are not counted as answers', () => {
  const intent = asking(stays, openQuestion('other'))
  const { waits_for } = plan({ intent })
  const summary = (rounds: Parameters<typeof plan>[1]) => plan({ intent }, rounds).artifacts.run_summary
  expect(summary([answering(waits_for, { scan: 'go' })])).toMatchObject({ answers_applied: 1, defaults_applied: 1 })
  expect(summary([{ timed_out: true }])).toMatchObject({ answers_applied: 0, defaults_applied: 2 })
})

test('F-44 policy: the reference has every field that a policy may have, and no other', () => {
  const fields = (schema: { properties?: object }, root = ''): string[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
      'properties' in part ? fields(part, `${root}${name}.`) : [`${root}${name}`],
    )
  const { execution_policy } = coordinatorJsonSchemas()
  const notes = ['schema_version', 'metadata']
  expect(Object.keys(policyFields).sort()).toEqual(
    fields(execution_policy)
      .filter((field) => !notes.includes(field))
      .sort(),
  )
})

test('F-42 answers in force: a default because of which the rules deny a step is on record, and holds when others are answered', () => {
  const settled = openQuestion('quiet', {
    type: 'optimization',
    affects_steps: ['cmd_scan'],
    default_strategy: { action: 'use', value: 'stop', explanation: 'So.' },
  })
  const intent = asking(settled, openQuestion('other', { affects_steps: ['cmd_read'] }))
  const registry = registryWith(rule('rule_quiet', 'deny', 'context.answers.contains("quiet=stop")'))
  // Only blockers are asked, so the default of the first question stands and takes the scan out.
  const policy = policyWith({ question_rules: { allowed_types: ['blocker'] } })
  const { waits_for } = plan({ intent, registry, policy })
  const { artifacts } = plan({ intent, registry, policy }, [answering(waits_for, { other: 'go' })])
  expect(artifacts.rule_decisions.map(({ decisions }) => decisions[1]?.decision)).toEqual(['deny', 'deny'])
  expect(artifacts.execution_graph?.dropped_steps.map(({ step_id }) => step_id)).toEqual(['cmd_scan'])
  expect(artifacts.execution_graph?.applied_answers.map(({ key, value }) => `${key}=${value}`).sort()).toEqual([
    'other=go',
    'quiet=stop',
  ])
})
