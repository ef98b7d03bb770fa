import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { payloadNames } from '../../../src/coordinator/payload-keys.ts'
import type { Json } from '../../../src/kernel/json.ts'
import {
  command,
  intentOf,
  interactionOf,
  openQuestion,
  plan,
  planned,
  policyWith,
  registryWith,
} from '../../support/coordinator.ts'
import { scenario } from '../../support/scenario.ts'

const payloadKeys = payloadNames

describe('Red line 1: no execution payload', () => {
  scenario(
    'CO-17',
    'A payload key aborts at any depth and in any spelling',
    () => {
      for (const key of [...payloadKeys, 'EXECUTE', 'Command-Line', 'Shell'])
        for (const place of [
          (value: Json) => ({ ...(intentOf() as object), [key]: value }),
          (value: Json) => intentOf((i) => ({ ...i, metadata: { notes: [{ deep: { [key]: value } }] } })),
          (value: Json) => intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read', { [key]: value })] })),
          (value: Json) => [{ [key]: value }],
        ]) {
          // GIVEN an intent with the key somewhere, WHEN it is coordinated
          const { state, artifacts } = plan({ intent: place('echo') as Json })
          // THEN it is aborted as a red line, and the place is named
          expect(state).toBe('ABORTED')
          expect(artifacts.failure_pack).toMatchObject({
            failure_type: 'red_line_violation',
            cause: 'execution_payload',
            failed_at_state: 'PRECHECKED',
          })
          expect(artifacts.failure_pack?.problems[0]?.path).toContain(key)
        }
    },
    30_000,
  )

  scenario('CO-17', 'Prose may say execute, and keys that only sound like it are no payload', () => {
    // GIVEN prose with every one of the words, and keys that contain them
    const intent = intentOf((i) => ({
      ...i,
      title: 'Execute the script in a shell',
      description: `Run it: ${payloadKeys.join(' ')}`,
      objective: { goal: 'execute', success_criteria: ['The bash script may run.'], non_goals: ['python'] },
      metadata: { executed_by: 'run', runs: 3, run_id: 'bash', notes: { dry_run: 'shell script' } },
    }))
    // THEN it is planned
    expect(plan({ intent }).state).toBe('DONE')
  })
})

describe('Red line 2: full_auto never asks', () => {
  scenario(
    'CO-18',
    'full_auto never emits a question, even if one is open',
    () => {
      const question = fc.record({
        type: fc.constantFrom('clarification', 'blocker', 'optimization', 'risk_mitigation'),
        blocking_level: fc.constantFrom('critical', 'high', 'medium', 'low'),
        default_strategy: fc.constantFrom(
          { action: 'use', value: 'go', explanation: 'Go.' },
          { action: 'block', explanation: 'Stop.' },
        ),
      })
      fc.assert(
        fc.property(
          fc.array(question, { minLength: 1, maxLength: 6 }),
          fc.constantFrom('interactive', 'semi_auto', 'full_auto'),
          fc.nat(50),
          (questions, mode, question_budget) => {
            // GIVEN any open questions, an intent in full_auto, and whatever policy
            const intent = intentOf((i) => ({
              ...i,
              interaction: interactionOf('full_auto'),
              open_questions: questions.map((more, n) => openQuestion(`open_${n}`, more)),
            }))
            const result = plan({ intent, policy: policyWith({ mode, question_budget }) })
            // THEN no question is ever asked: defaults answer all, or it is blocked
            expect(
              result.tape.entries.some(
                ({ to_state }) => to_state === 'QUESTIONS_EMITTED' || to_state === 'AWAITING_ANSWERS',
              ),
            ).toBe(false)
            expect(result.artifacts.question_pack).toEqual([])
            expect(result.state).toBe(
              questions.some(({ default_strategy }) => default_strategy.action === 'block') ? 'BLOCKED' : 'DONE',
            )
          },
        ),
        { numRuns: 40, seed: 18 },
      )
    },
    30_000,
  )

  scenario('CO-18', 'The same question is asked in interactive', () => {
    const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('which_way')] }))
    expect(plan({ intent }).state).toBe('AWAITING_ANSWERS')
    expect(plan({ intent, policy: policyWith({ mode: 'full_auto' }) }).state).toBe('DONE')
  })
})

describe('Red line 3: high or critical risk is never full_auto', () => {
  scenario(
    'CO-19',
    'Risk and mode together decide, wherever they come from',
    () => {
      for (const overall of ['low', 'medium', 'high', 'critical'])
        for (const commandRisk of ['low', 'medium', 'high', 'critical'])
          for (const [intentMode, policyMode] of [
            ['full_auto', 'interactive'],
            ['interactive', 'full_auto'],
            ['interactive', 'interactive'],
            ['interactive', 'semi_auto'],
          ] as const) {
            // GIVEN a risk that the intent declares, a risk that the registry knows of, and two modes
            const registry = registryWith(command('cmd_scan', { risk_level: commandRisk }))
            const intent = intentOf((i) => ({
              ...i,
              interaction: interactionOf(intentMode),
              risk: { overall, drivers: ['x'], requires_review: ['architecture'] },
            }))
            const { state, artifacts } = plan({
              intent,
              registry,
              policy: policyWith({ mode: policyMode }),
            })
            // THEN full_auto from either side with high risk from either side is blocked, and nothing else is
            const risky = [overall, commandRisk].some((risk) => risk === 'high' || risk === 'critical')
            const auto = intentMode === 'full_auto' || policyMode === 'full_auto'
            expect(state).toBe(risky && auto ? 'BLOCKED' : 'DONE')
            if (risky && auto)
              expect(artifacts.failure_pack).toMatchObject({
                cause: 'full_auto_risk',
                failure_type: 'policy_violation',
                failed_at_state: 'PRECHECKED',
              })
          }
    },
    30_000,
  )
})

describe('Red line 4: no action without evidence', () => {
  scenario('CO-20', 'A step without evidence blocks the plan, and its node is named', () => {
    // GIVEN two steps without evidence
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read', { evidence_refs: [] }),
        planned('cmd_scan'),
        planned('cmd_write', { effects: ['write'], evidence_refs: [] }),
      ],
    }))
    const { state, artifacts } = plan({ intent })
    // THEN the graph is not accepted, and both nodes are named
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack).toMatchObject({ cause: 'action_without_evidence', failed_at_state: 'GRAPH_DRAFTED' })
    expect(artifacts.failure_pack?.problems.map(({ refs }) => refs)).toEqual([
      ['node_action_001', 'cmd_read'],
      ['node_action_003', 'cmd_write'],
    ])
  })

  scenario('CO-20', 'One piece of evidence each is enough', () => {
    const intent = intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read', { evidence_refs: ['ev1'] })] }))
    expect(plan({ intent }).state).toBe('DONE')
  })
})

describe('Red line 5: registry only', () => {
  scenario('CO-21', 'A reference to nothing is blocked, and the nearest existing one is named', () => {
    for (const [change, path, message] of [
      [
        { planned_commands: [planned('cmd_raed')] },
        'planned_commands[0]',
        'The registry has no command cmd_raed; the nearest is cmd_read.',
      ],
      [
        { selected_agents: [{ agent_id: 'agent_bulider', role: 'builder', responsibilities: ['x'] }] },
        'selected_agents[0]',
        'The registry has no agent agent_bulider; the nearest is agent_builder.',
      ],
      [
        { selected_workflows: [{ workflow_id: 'wf_chnage', phases: ['analysis'] }] },
        'selected_workflows[0]',
        'The registry has no workflow wf_chnage; the nearest is wf_change.',
      ],
      [
        { selected_workflows: [{ workflow_id: 'wf_change', phases: ['design'] }] },
        'selected_workflows[0].phases',
        'workflow wf_change 1.0.0 has no phase design; it has analysis, implementation, release.',
      ],
      [
        { required_rules: [{ rule_id: 'rule_r02_wirte' }] },
        'required_rules[0]',
        'The registry has no rule rule_r02_wirte; the nearest is rule_r02_write.',
      ],
    ] as const) {
      // GIVEN such a reference, THEN it is blocked and named
      const { state, artifacts } = plan({ intent: intentOf((i) => ({ ...i, ...(change as object) })) })
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({
        failure_type: 'missing_registry',
        cause: 'reference_missing',
        failed_at_state: 'PRECHECKED',
      })
      expect(artifacts.failure_pack?.problems).toContainEqual(expect.objectContaining({ path, message }))
    }
  })

  scenario('CO-21', 'Constraints that contradict the registry are not accepted; its entries are', () => {
    // GIVEN an intent that allows execution, fabrication or content from elsewhere
    for (const change of [{ execution: 'allowed' }, { no_fabrication: false }, { registry_only: false }]) {
      const intent = intentOf((i) => ({ ...i, constraints: { ...(i.constraints as object), ...change } as never }))
      expect(plan({ intent }).state).toBe('BLOCKED')
    }
    // AND a rule that is required and there is fine
    expect(
      plan({ intent: intentOf((i) => ({ ...i, required_rules: [{ rule_id: 'rule_r02_write', version: '1.0.0' }] })) })
        .state,
    ).toBe('DONE')
  })

  scenario('CO-21', 'Every rule in force applies, whether the intent names it or not', () => {
    const registry = registryWith()
    const intent = intentOf((i) => ({ ...i, required_rules: [] }))
    const unnamed = plan({ registry, intent })
    expect(unnamed.artifacts.rule_decisions[0]?.decisions.at(-1)?.decision).toBe('require_review')
  })
})
