import { describe, expect } from 'vitest'
import { coordinate, recoveryOf } from '../../src/coordinator/coordinate.ts'
import { failureCauses } from '../../src/coordinator/guard-table.ts'
import {
  agent,
  command,
  content,
  inputOf,
  intentOf,
  plan,
  planned,
  policyWith,
  ports,
  registryOf,
  registryWith,
  rule,
  rulesOnly,
} from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

const only = (...commands: readonly object[]) => intentOf((i) => ({ ...i, planned_commands: commands as never }))
const allow = rule('rule_ok', 'allow', 'context.risk >= 0')

describe('Coordinator: BLOCKED', () => {
  scenario('CO-12', 'Each condition that blocks gives its true cause, and a way out', () => {
    const inactive = (status: string) =>
      registryWith({ ...(content.find(({ id }) => id === 'cmd_scan') as object), status } as never)
    for (const [change, failure_type, cause] of [
      // Registry content missing or not active
      [{ intent: only(planned('cmd_raed')) }, 'missing_registry', 'reference_missing'],
      [{ registry: inactive('deprecated') }, 'missing_registry', 'reference_inactive'],
      [{ registry: inactive('draft') }, 'missing_registry', 'reference_inactive'],
      // Policy prohibits the operation, whether it is named by command or by effect
      [
        { policy: policyWith({ constraints: { forbidden_operations: ['cmd_write'] } }) },
        'policy_violation',
        'operation_forbidden',
      ],
      [
        { policy: policyWith({ constraints: { forbidden_operations: ['write'] } }) },
        'policy_violation',
        'operation_forbidden',
      ],
      [
        {
          policy: policyWith({ mode: 'full_auto' }),
          intent: intentOf((i) => ({ ...i, risk: { overall: 'high', drivers: ['x'], requires_review: ['security'] } })),
        },
        'policy_violation',
        'full_auto_risk',
      ],
      // Budgets
      [
        {
          intent: intentOf((i) => ({
            ...i,
            budgets: { max_files: 0, max_commits: 5, max_tokens: 9e5, max_cost_usd: 9 },
          })),
        },
        'constraint_violation',
        'budget_exceeded',
      ],
      // No memory; a graph that runs in a circle; rules that cannot decide
      [{ memory: null }, 'constraint_violation', 'memory_unavailable'],
      [{ intent: only(planned('cmd_read', { depends_on: ['cmd_read'] })) }, 'constraint_violation', 'graph_has_cycle'],
      [
        { registry: rulesOnly(rule('rule_none', 'allow', 'context.risk > 99')) },
        'constraint_violation',
        'rules_undecidable',
      ],
    ] as const) {
      // WHEN the plan is made under that condition
      const { state, artifacts, tape, audit } = plan(change as never)
      // THEN it is blocked, with that type and cause and something to do about it
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({ outcome: 'BLOCKED', failure_type, cause, needs_person: false })
      expect(artifacts.failure_pack?.recovery_suggestions.length).toBeGreaterThan(0)
      expect(artifacts.failure_pack?.problems.length).toBeGreaterThan(0)
      // AND tape and audit end with it; there is no plan
      expect(tape).toMatchObject({ is_closed: true, failure_info: { failure_type, cause } })
      expect(tape.entries.at(-1)?.outputs_produced.at(-1)?.artifact_type).toBe('failure_pack')
      expect(audit.at(-1)).toMatchObject({ event_type: 'run_failed', severity: 'warning' })
      expect(artifacts.run_summary).toBeUndefined()
      // AND what stopped it was a guard that is on record as not holding
      expect(tape.entries.at(-1)?.guards_evaluated.some(({ passed }) => !passed)).toBe(true)
    }
  })

  scenario('CO-12', 'An effect that only the registry knows of is forbidden too', () => {
    // GIVEN an intent that calls a writing command reading
    const intent = only(planned('cmd_write', { effects: ['read'] }))
    // THEN the policy against writing still holds
    const { artifacts } = plan({ intent, policy: policyWith({ constraints: { forbidden_operations: ['write'] } }) })
    expect(artifacts.failure_pack).toMatchObject({ cause: 'operation_forbidden' })
  })

  scenario('CO-12', 'Every cause there is has a type and suggestions', () => {
    for (const [cause, { type, suggestions }] of Object.entries(failureCauses)) {
      expect(cause).toMatch(/^[a-z_]+$/)
      expect(type).toBeTruthy()
      expect(suggestions.length).toBeGreaterThan(0)
    }
  })
})

describe('Coordinator: ABORTED', () => {
  const conflict = rulesOnly(
    rule('rule_must', 'allow', 'context.risk >= 0', {}, 'block'),
    rule('rule_never', 'deny', 'resource == Command::"cmd_scan"', {}, 'block'),
  )
  const remote = registryWith(agent('agent_builder', { model: { provider: 'cloud', locality: 'remote' } }))

  scenario('CO-13', 'Each condition that aborts gives its true cause, and a critical audit entry', () => {
    for (const [change, failure_type, cause] of [
      // An execution payload
      [{ intent: { ...(intentOf() as object), execute: 'rm -rf /' } }, 'red_line_violation', 'execution_payload'],
      // A deny of severity block; any deny on a command of high risk, by the intent or by the registry
      [
        { registry: rulesOnly(allow, rule('rule_no', 'deny', 'resource == Command::"cmd_scan"', {}, 'block')) },
        'rule_denied',
        'rule_denied',
      ],
      [
        {
          registry: rulesOnly(allow, rule('rule_no', 'deny', 'resource == Command::"cmd_scan"')),
          intent: only(planned('cmd_scan', { risk_level: 'high' })),
        },
        'rule_denied',
        'rule_denied',
      ],
      [
        {
          registry: registryOf([
            ...content.filter(({ id }) => id !== 'cmd_scan'),
            command('cmd_scan', { risk_level: 'critical' }),
            rule('rule_no', 'deny', 'resource == Command::"cmd_scan"'),
          ]),
        },
        'rule_denied',
        'rule_denied',
      ],
      // Rules that contradict each other
      [{ registry: conflict }, 'rule_denied', 'rule_conflict'],
      // Model routing: local only; providers
      [
        { registry: remote, policy: policyWith({ model_routing: { local_only: true } }) },
        'policy_violation',
        'model_routing_breach',
      ],
      [
        { registry: remote, policy: policyWith({ model_routing: { allowed_providers: ['local_models'] } }) },
        'policy_violation',
        'model_routing_breach',
      ],
    ] as const) {
      // WHEN the plan is made under that condition
      const { state, artifacts, audit, tape } = plan(change as never)
      // THEN it is aborted with that type and cause, and a person has to look
      expect(state).toBe('ABORTED')
      expect(artifacts.failure_pack).toMatchObject({ outcome: 'ABORTED', failure_type, cause, needs_person: true })
      expect(audit.at(-1)).toMatchObject({ event_type: 'run_failed', severity: 'critical' })
      expect(tape.entries.at(-1)?.guards_evaluated.some(({ passed }) => !passed)).toBe(true)
    }
  })

  scenario('CO-13', 'On the other side of each line there is a plan', () => {
    for (const change of [
      { registry: rulesOnly(allow, rule('rule_no', 'deny', 'resource == Command::"cmd_scan"')) },
      { registry: rulesOnly(allow, rule('rule_no', 'deny', 'resource == Command::"cmd_scan"', {}, 'error')) },
      {
        registry: rulesOnly(
          rule('rule_must', 'allow', 'context.risk >= 0', {}, 'block'),
          rule('rule_no', 'deny', 'resource == Command::"cmd_scan"', {}, 'warn'),
        ),
      },
      { registry: remote },
      { registry: remote, policy: policyWith({ model_routing: { allowed_providers: ['local_models', 'cloud'] } }) },
      { policy: policyWith({ model_routing: { local_only: true } }) },
    ])
      expect(plan(change).state).toBe('DONE')
  })

  scenario('CO-13', 'A conflict names the rules on both sides', () => {
    expect(plan({ registry: conflict }).artifacts.failure_pack?.problems).toMatchObject([
      { code: 'rule_conflict', refs: ['cmd_scan', 'rule_must', 'rule_never'] },
    ])
  })
})

describe('Coordinator: recovery', () => {
  scenario('CO-24', 'A corrected intent is a new coordination that names the one it takes the place of', () => {
    // GIVEN a coordination that was blocked, and one that was aborted
    for (const intent of [only(planned('cmd_raed')), { ...(intentOf() as object), shell: 'x' } as never]) {
      const failed = coordinate(inputOf({ intent }), [], ports)
      const recovers = recoveryOf(failed, ports)
      if (recovers === null) throw new Error('It has ended, so it can be recovered from.')
      // WHEN the corrected intent is submitted
      const again = coordinate(inputOf({ recovers }), [], ports)
      // THEN it is a run of its own, and its lineage leads to the one before
      expect(again.state).toBe('DONE')
      expect(again.run_id).not.toBe(failed.run_id)
      expect(again.lineage.recovers).toEqual({
        run_id: failed.run_id,
        final_state: failed.state,
        tape_checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      // AND without the link it would be another run
      expect(coordinate(inputOf(), [], ports).run_id).not.toBe(again.run_id)
    }
    // AND one that has not ended cannot be recovered from
    const asking = registryWith(command('cmd_write', { effects: ['write'], risk_level: 'medium' }))
    const waiting = plan({ registry: asking })
    expect(waiting.state).toBe('AWAITING_ANSWERS')
    expect(recoveryOf(waiting, ports)).toBeNull()
  })
})
