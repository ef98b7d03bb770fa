import { describe, expect } from 'vitest'
import { begin, step } from '../../src/coordinator/engine.ts'
import {
  content,
  facts,
  inputOf,
  intentOf,
  memory,
  plan,
  planned,
  policyWith,
  ports,
  registryOf,
  rule,
  rulesOnly,
} from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

describe('Coordinator: RECEIVED', () => {
  scenario('CO-01', 'Any intent is taken in and gets a run id and a tape', () => {
    // GIVEN an intent, and something that is none
    for (const intent of [intentOf(), { hello: 'world' }, 'words', null]) {
      // WHEN it is received
      const received = begin(inputOf({ intent }), ports)
      // THEN it has a run id that is a hash of what went in, and the tape has its first entry
      expect(received.run_id).toMatch(/^coord_run_[0-9a-f]{32}$/)
      expect(received.entries).toEqual([
        {
          sequence: 1,
          from_state: 'INIT',
          to_state: 'RECEIVED',
          trigger: 'received',
          guards_evaluated: [],
          outputs_produced: [],
          audit_log_ids: [],
        },
      ])
      // AND it always goes on to the precheck, without a guard
      const next = step(received, ports)
      expect(next.state).toBe('PRECHECKED')
      expect(next.entries.at(-1)?.guards_evaluated).toEqual([])
    }
    // AND other inputs have other run ids
    const ids = [intentOf(), 'words', intentOf((i) => ({ ...i, title: 'Another title' }))].map(
      (intent) => begin(inputOf({ intent }), ports).run_id,
    )
    expect(new Set(ids).size).toBe(3)
  })

  scenario('CO-01', 'Text that has no canonical form is refused by name', () => {
    // GIVEN an intent with half of a surrogate pair, which JSON can carry
    const intent = JSON.parse('{"title":"\\ud800"}')
    // THEN it is refused as a request, not taken in with a checksum that means nothing
    expect(() => begin(inputOf({ intent }), ports)).toThrow(
      expect.objectContaining({ code: 'not_plain_json', details: expect.objectContaining({ what: 'intent' }) }),
    )
  })
})

describe('Coordinator: PRECHECKED', () => {
  scenario('CO-02', 'A sound intent is confirmed against shape, seal, red lines and registry', () => {
    // GIVEN a sound intent, WHEN it is coordinated
    const { artifacts, tape } = plan()
    // THEN the report says what was checked and what the references mean
    const report = artifacts.precheck_report
    expect(report?.schema_problems).toEqual([])
    expect(report?.checksum.declared).toBe(report?.checksum.computed)
    expect(report?.red_lines.map(({ red_line, verdict }) => `${red_line} ${verdict}`)).toEqual([
      'RL1 holds',
      'RL2 not_evaluated',
      'RL3 holds',
      'RL4 not_evaluated',
      'RL5 holds',
    ])
    expect(report?.registry.confirmed.map(({ kind, id, version }) => `${kind} ${id} ${version}`)).toContain(
      'command cmd_write 1.0.0',
    )
    // AND the move carries the five guards and the report
    const move = tape.entries.find(({ from_state }) => from_state === 'PRECHECKED')
    expect(move?.guards_evaluated.map(({ guard_name }) => guard_name)).toEqual([
      'intent_schema_valid',
      'checksum_matches',
      'red_lines_satisfied',
      'registry_references_active',
      'no_version_drift',
    ])
    expect(move?.outputs_produced.map(({ artifact_type }) => artifact_type)).toEqual(['precheck_report'])
  })

  scenario('CO-02', 'Every schema error is told at once, with its path', () => {
    // GIVEN an intent with five mistakes of different kinds
    const intent = intentOf((i) => ({
      ...i,
      title: 'x',
      extra: true,
      planned_commands: [
        planned('cmd_read', { effects: ['fly'] }),
        planned('cmd_write', { effects: ['write'], depends_on: ['cmd_gone'] }),
      ],
      risk: { overall: 'medium', drivers: [], requires_review: [] },
    }))
    // WHEN it is coordinated
    const { state, artifacts } = plan({ intent })
    // THEN it is blocked, and each mistake is named where it is
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack).toMatchObject({
      failure_type: 'constraint_violation',
      cause: 'schema_invalid',
      failed_at_state: 'PRECHECKED',
    })
    const paths = artifacts.failure_pack?.problems.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining(['title', 'planned_commands[0].effects[0]', 'risk.drivers', '(the whole)']),
    )

    // AND the rules between fields speak too, once every field has its shape
    const tangled = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read', { depends_on: ['cmd_gone'] }),
        planned('cmd_read'),
        planned('cmd_write', { effects: ['write'], agent_id: 'agent_gone', phase: 'release' }),
      ],
      interaction: { mode: 'full_auto', question_budget: 3, question_policy: 'conceptual_only' },
      risk: { overall: 'low', drivers: ['x'], requires_review: [] },
    }))
    expect(plan({ intent: tangled }).artifacts.failure_pack?.problems.map(({ path }) => path)).toEqual([
      'planned_commands[1]',
      'planned_commands[0].depends_on',
      'planned_commands[2].agent_id',
      'planned_commands[2].phase',
      'interaction.question_budget',
      'interaction.question_policy',
      'risk.requires_review',
    ])
  })

  scenario('CO-02', 'An intent that was changed after it was sealed is blocked', () => {
    // GIVEN a sealed intent with another goal
    const intent = { ...(intentOf() as object), title: 'Something else' } as never
    // THEN the seal does not hold
    const { state, artifacts } = plan({ intent })
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack).toMatchObject({ cause: 'checksum_mismatch', failure_type: 'constraint_violation' })
  })

  scenario('CO-02', 'A registry that has moved since the intent was written is drift', () => {
    const current = registryOf().entries.find(({ id }) => id === 'cmd_read')
    // GIVEN an intent that pins what is there, THEN nothing drifts
    const pinned = (pin: { version?: string; checksum?: string }) =>
      intentOf((i) => ({
        ...i,
        planned_commands: [planned('cmd_read', pin)],
        risk: { overall: 'low', drivers: ['x'], requires_review: [] },
      }))
    expect(plan({ intent: pinned({ version: '1.0.0', checksum: current?.checksum ?? '' }) }).state).toBe('DONE')
    // GIVEN a version that is gone, and a version whose content is another, THEN it is blocked as drift
    for (const pin of [{ version: '0.9.0' }, { version: '1.0.0', checksum: 'b'.repeat(64) }]) {
      const { state, artifacts } = plan({ intent: pinned(pin) })
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({ cause: 'version_drift', failure_type: 'missing_registry' })
    }
    // GIVEN a snapshot whose content was changed under its checksum, THEN that is found as well
    const registry = structuredClone(registryOf())
    for (const entry of registry.entries) if (entry.id === 'cmd_write') entry.title = 'Something else'
    expect(plan({ registry }).artifacts.failure_pack).toMatchObject({ cause: 'version_drift' })
  })

  scenario('CO-02', 'A pinned version is used although a newer one is there', () => {
    // GIVEN two usable versions of a command, the newer one riskier
    const newer = {
      ...content.find(({ id }) => id === 'cmd_read'),
      version: '1.10.0',
      risk_level: 'high',
      lineage: { parent_version: '1.0.0', change_reason: 'It does more.' },
    }
    const registry = registryOf([...content, newer as never])
    const one = (pin: object) =>
      intentOf((i) => ({
        ...i,
        planned_commands: [planned('cmd_read', pin as never)],
        risk: { overall: 'low', drivers: ['x'], requires_review: [] },
      }))
    const versionIn = (intent: ReturnType<typeof intentOf>) =>
      plan({ intent, registry }).artifacts.execution_graph?.nodes.find(
        ({ node_type }) => node_type === 'action_proposal',
      )
    // THEN without a pin the newest is taken (by number, not by letter), with one the pinned
    expect(versionIn(one({}))).toMatchObject({ command_version: '1.10.0', risk_level: 'high' })
    expect(versionIn(one({ version: '1.0.0' }))).toMatchObject({ command_version: '1.0.0', risk_level: 'low' })
  })
})

describe('Coordinator: CONTEXT_BUILT', () => {
  scenario('CO-03', 'Memory, facts and policy become one bundle', () => {
    // GIVEN an empty memory pack, WHEN the plan is made
    const { artifacts, tape } = plan()
    // THEN there is a bundle of all three: memory may be empty, but it must exist
    expect(artifacts.context_bundle).toMatchObject({
      memory_context: memory as object,
      fact_pack: facts as object,
      effective: { mode: 'interactive', question_budget: 5, risk: 'medium' },
    })
    expect(
      tape.entries
        .find(({ from_state }) => from_state === 'CONTEXT_BUILT')
        ?.guards_evaluated.every(({ passed }) => passed),
    ).toBe(true)
  })

  scenario('CO-03', 'Without memory, facts or policy the plan is blocked, and the cause is the true one', () => {
    const unusable = { schema_version: '2.0.0' }
    for (const [change, cause, guard] of [
      [{ memory: null }, 'memory_unavailable', 'memory_pack_available'],
      [{ memory: unusable }, 'memory_unavailable', 'memory_pack_available'],
      [{ policy: policyWith({ min_memory_items: 1 }) }, 'memory_unavailable', 'memory_pack_available'],
      [{ facts: null }, 'facts_unavailable', 'fact_pack_available'],
      [{ facts: { ...(facts as object), evidence: [] } as never }, 'facts_unavailable', 'fact_pack_available'],
      [{ policy: unusable }, 'policy_invalid', 'policy_loaded'],
      [{ policy: null }, 'policy_invalid', 'policy_loaded'],
    ] as const) {
      // WHEN one of them is missing or unusable
      const { state, artifacts, tape } = plan(change)
      // THEN it is blocked there, and only that guard failed
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({
        cause,
        failed_at_state: 'CONTEXT_BUILT',
        failure_type: 'constraint_violation',
      })
      expect(
        tape.entries
          .at(-1)
          ?.guards_evaluated.filter(({ passed }) => !passed)
          .map(({ guard_name }) => guard_name),
      ).toEqual([guard])
    }
  })
})

describe('Coordinator: RULES_EVALUATED', () => {
  scenario('CO-04', 'Every planned command gets a decision with all its reasons, and the plan a risk', () => {
    // GIVEN rules of several classes that match the same command
    const { artifacts, tape } = plan()
    const decisions = artifacts.rule_decisions.at(-1)?.decisions ?? []
    // THEN the strongest class decides, and every rule that matched is there with version and reason
    expect(decisions.map(({ step_id, decision }) => [step_id, decision])).toEqual([
      ['cmd_read', 'allow'],
      ['cmd_scan', 'allow'],
      ['cmd_write', 'require_review'],
    ])
    expect(decisions.at(-1)?.matched_rules).toEqual([
      {
        rule_id: 'rule_r02_write',
        version: '1.0.0',
        verdict: 'require_review',
        severity: 'warn',
        reason: 'rule_r02_write has its reasons.',
      },
      {
        rule_id: 'rule_r01_known',
        version: '1.0.0',
        verdict: 'allow',
        severity: 'info',
        reason: 'rule_r01_known has its reasons.',
      },
    ])
    expect(
      decisions.every(
        ({ rule_engine, policy_set_digest, evidence_refs }) =>
          rule_engine === 'cedar 4.13.0' && policy_set_digest.length === 64 && evidence_refs.length > 0,
      ),
    ).toBe(true)
    // AND every evaluation is on the tape, with how many rules were considered
    expect(
      tape.rule_evaluations.map(({ step_id, sets }) => [
        step_id,
        sets.require_review.considered,
        sets.require_review.matched,
      ]),
    ).toEqual([
      ['cmd_read', 1, []],
      ['cmd_scan', 1, []],
      ['cmd_write', 1, ['rule_r02_write']],
    ])
    expect(artifacts.risk_assessment.at(-1)).toMatchObject({ overall_risk: 'medium', declared_risk: 'medium' })
  })

  scenario('CO-04', 'The rules judge the facts of the registry, even if the intent admits less', () => {
    // GIVEN an intent that calls a writing command of medium risk reading and low
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [planned('cmd_write', { effects: ['read'], risk_level: 'low' })],
    }))
    // THEN the rule about writing speaks, and the risk is the registry's
    expect(plan({ intent }).artifacts.rule_decisions[0]?.decisions[0]).toMatchObject({
      decision: 'require_review',
      risk_level: 'medium',
    })
  })

  scenario('CO-04', 'A deny that may be dropped drops the command and its dependents, with the reason', () => {
    // GIVEN a mild deny on a command of low risk, on which another one depends
    const registry = rulesOnly(
      rule('rule_ok', 'allow', 'true || context.risk >= 0'),
      rule('rule_no_scan', 'deny', 'resource == Command::"cmd_scan"'),
    )
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read'),
        planned('cmd_scan'),
        planned('cmd_read', { step_id: 'read_again', depends_on: ['cmd_scan'] }),
      ],
    }))
    const { state, artifacts } = plan({ registry, intent })
    // THEN there is a plan without them, and it says why
    expect(state).toBe('DONE')
    expect(artifacts.execution_graph?.dropped_steps).toEqual([
      {
        step_id: 'cmd_scan',
        command_id: 'cmd_scan',
        reason: 'rule_no_scan: rule_no_scan has its reasons.',
        rule_refs: ['rule_no_scan'],
      },
      {
        step_id: 'read_again',
        command_id: 'cmd_read',
        reason: 'It depends on cmd_scan, which is not in the plan.',
        rule_refs: [],
      },
    ])
    expect(
      artifacts.execution_graph?.nodes
        .filter(({ node_type }) => node_type === 'action_proposal')
        .map(({ step_ref }) => step_ref),
    ).toEqual(['cmd_read'])
  })

  scenario('CO-04', 'A command that the rules cannot decide is blocked, never allowed', () => {
    const intent = intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read')] }))
    const allow = rule('rule_ok', 'allow', 'context.risk >= 0')
    // GIVEN silence; a deny rule that overflows while it is evaluated; the same next to an allow
    for (const registry of [
      rulesOnly(rule('rule_other', 'allow', 'resource == Command::"cmd_other"')),
      rulesOnly(rule('rule_overflow', 'deny', 'context.target_files * 9223372036854775807 * 2 > 5'), allow),
    ]) {
      // WHEN the plan is judged
      const { state, artifacts, tape } = plan({ registry, intent })
      // THEN it is blocked as undecidable, with the reason, and the decision is not an allow
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({ cause: 'rules_undecidable', failed_at_state: 'RULES_EVALUATED' })
      expect(artifacts.rule_decisions[0]?.decisions[0]?.decision).toBeNull()
      expect(artifacts.rule_decisions[0]?.decisions[0]?.undecidable_because).not.toEqual([])
      expect(tape.entries.at(-1)).toMatchObject({
        from_state: 'RULES_EVALUATED',
        trigger: 'rules_undecidable',
        to_state: 'BLOCKED',
      })
    }
    // AND the erroring rule is named
    const overflow = rulesOnly(
      rule('rule_overflow', 'deny', 'context.target_files * 9223372036854775807 * 2 > 5'),
      allow,
    )
    expect(
      plan({ registry: overflow, intent }).artifacts.rule_decisions[0]?.decisions[0]?.undecidable_because[0],
    ).toMatchObject({ rule_id: 'rule_overflow', message: expect.stringContaining('overflow') })
  })
})
