import { describe, expect } from 'vitest'
import { advance, begin, step } from '../../src/coordinator/engine.ts'
import type { Progress } from '../../src/coordinator/progress.ts'
import { canonicalJson, type Json } from '../../src/kernel/json.ts'
import { command, inputOf, intentOf, plan, ports, registryWith, until } from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

describe('Coordinator: REVIEW_PACK_BUILT', () => {
  scenario('CO-09', 'A reviewer sees impact with its basis, the way back, and the required reviewers', () => {
    // GIVEN a plan, WHEN the review pack is built
    const pack = plan().artifacts.review_pack
    // THEN every estimate says where it comes from
    expect(pack?.change_impact.files).toMatchObject({ estimated: 2, allowed: 10, within: 'yes', not_estimated: [] })
    expect(pack?.change_impact.cost_usd).toMatchObject({ estimated: 0.4, within: 'yes' })
    expect(pack?.change_impact.tokens.basis).toContainEqual({
      step_id: 'cmd_write',
      amount: 5000,
      source: 'registry:command/cmd_write@1.0.0',
    })
    // AND what goes side by side is counted once
    expect(pack?.plan_summary.estimated_duration_ms).toBe(1000 + 5000)
    // AND the way back is there, and the gates
    expect(pack?.rollback_guide).toEqual([
      {
        order: 1,
        step_id: 'cmd_write',
        node_id: 'node_action_003',
        is_irreversible: false,
        instruction: 'Revert the commit.',
      },
    ])
    expect(pack?.review_gates.map(({ node_id, category, step_id }) => [node_id, category, step_id])).toEqual([
      ['node_review_architecture', 'architecture', null],
      ['node_gate_003', null, 'cmd_write'],
    ])
    expect(pack?.risk.overall).toBe('medium')
    expect(pack?.risk.justification.every(({ evidence_refs }) => evidence_refs.length > 0)).toBe(true)
  })

  scenario('CO-09', 'A missing estimate is named, and files are taken from the scope', () => {
    // GIVEN a command without estimates
    const registry = registryWith(
      command('cmd_write', { effects: ['write'], risk_level: 'medium', rollback: 'Revert.', estimate: {} }),
    )
    const impact = plan({ registry }).artifacts.review_pack?.change_impact
    // THEN its tokens are not estimated, and its files are those the intent targets
    expect(impact?.tokens.not_estimated).toEqual(['cmd_write'])
    expect(impact?.files.basis).toContainEqual({
      step_id: 'cmd_write',
      amount: 1,
      source: 'the files that the intent targets',
    })
  })

  scenario('CO-09', 'A plan over any one of its four budgets is blocked', () => {
    const budgets = { max_files: 2, max_commits: 1, max_tokens: 7000, max_cost_usd: 0.4 }
    // GIVEN budgets that are met exactly, THEN there is a plan
    expect(plan({ intent: intentOf((i) => ({ ...i, budgets })) }).state).toBe('DONE')
    for (const [budget, less] of [
      ['max_files', 1],
      ['max_commits', 0],
      ['max_tokens', 6999],
      ['max_cost_usd', 0.39],
    ] as const) {
      // WHEN one of them is a little less
      const { state, artifacts } = plan({
        intent: intentOf((i) => ({ ...i, budgets: { ...budgets, [budget]: less } })),
      })
      // THEN it is blocked, and the budget is named
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({ cause: 'budget_exceeded', failed_at_state: 'REVIEW_PACK_BUILT' })
      expect(artifacts.failure_pack?.problems[0]?.message).toContain(`${budget.slice(4)} `)
    }
  })
})

describe('Coordinator: FROZEN_OUTPUTS and DONE', () => {
  scenario('CO-10', 'Every output has its checksum, and the lineage leads from intent to outputs', () => {
    // GIVEN a finished plan
    const { artifacts, tape, lineage } = plan()
    // THEN the lineage names intent, registry versions and outputs
    expect(artifacts.lineage).toBe(lineage)
    expect(lineage.derived_from_intent).toBe('intent_rename_field')
    expect(lineage.registry_versions.map(({ kind, id }) => `${kind}/${id}`)).toEqual([
      'agent/agent_builder',
      'agent/agent_reader',
      'command/cmd_read',
      'command/cmd_scan',
      'command/cmd_write',
      'rule/rule_r01_known',
      'rule/rule_r02_write',
      'rule/rule_r03_deploy',
      'workflow/wf_change',
    ])
    expect(lineage.outputs.map(({ artifact_type }) => artifact_type)).toEqual([
      'precheck_report',
      'context_bundle',
      'rule_decisions',
      'risk_assessment',
      'execution_graph_draft',
      'execution_graph',
      'risk_assessment',
      'review_pack',
    ])
    // AND the tape's last move read the three guards of freezing
    expect(tape.entries.at(-1)?.guards_evaluated.map(({ guard_name, passed }) => [guard_name, passed])).toEqual([
      ['outputs_have_checksums', true],
      ['lineage_is_complete', true],
      ['outputs_fit_schema', true],
    ])
  })

  scenario('CO-10', 'An output that changed, cannot be traced or lost its shape is never frozen', () => {
    const ready = until('FROZEN_OUTPUTS', begin(inputOf(), ports))
    const review = ready.artifacts.review_pack as NonNullable<typeof ready.artifacts.review_pack>
    // GIVEN a review pack that is kinder than the one recorded; a lineage without its registry; an artifact without its shape
    const changed = {
      ...ready,
      artifacts: {
        ...ready.artifacts,
        review_pack: { ...review, warnings: [{ step_id: 'cmd_read', rule_id: 'rule_x', reason: 'new' }] },
      },
    }
    const report = ready.artifacts.precheck_report as NonNullable<typeof ready.artifacts.precheck_report>
    const untraced = { ...report, registry: { ...report.registry, confirmed: [] } }
    const rootless = rerecorded(
      { ...ready, artifacts: { ...ready.artifacts, precheck_report: untraced } },
      'precheck_report',
    )
    const misshapen = rerecorded(
      { ...ready, artifacts: { ...ready.artifacts, review_pack: { ...review, pack_id: 'nonsense' } } },
      'review_pack',
    )
    for (const [progress, state, cause] of [
      [changed, 'BLOCKED', 'checksum_failed'],
      [rootless, 'BLOCKED', 'lineage_incomplete'],
      [misshapen, 'ABORTED', 'artifact_schema_violation'],
    ] as const) {
      // WHEN it is frozen, THEN it is refused for that cause
      const ended = step(progress, ports)
      expect(ended.state).toBe(state)
      expect(ended.artifacts.failure_pack).toMatchObject({ cause, failed_at_state: 'FROZEN_OUTPUTS' })
    }
  })

  scenario('CO-11', 'DONE closes the tape and sums the plan up', () => {
    // GIVEN a finished plan, THEN the tape is closed and takes no further move
    const { tape, artifacts, run_id } = plan()
    expect(tape).toMatchObject({ run_id, state: 'DONE', is_closed: true, failure_info: null })
    const ended = advance(begin(inputOf(), ports), ports)
    expect(step(ended, ports)).toBe(ended)
    // AND the summary fits on a screen
    expect(artifacts.run_summary).toMatchObject({
      final_state: 'DONE',
      actions: 3,
      review_gates: 2,
      dropped_steps: 0,
      questions_asked: 0,
      conflict_rounds: 0,
      overall_risk: 'medium',
      mode: 'interactive',
    })
    expect(artifacts.failure_pack).toBeUndefined()
  })
})

/** Records the present artifact of a type as if it had been made so: only then do later checks get to speak. */
function rerecorded(progress: Progress, type: 'precheck_report' | 'review_pack'): Progress {
  const artifact = progress.artifacts[type] as Record<string, unknown>
  const id = String(artifact[type === 'review_pack' ? 'pack_id' : 'report_id'])
  const checksum = ports.sha256(canonicalJson(artifact as Json))
  return {
    ...progress,
    entries: progress.entries.map((entry) => ({
      ...entry,
      outputs_produced: entry.outputs_produced.map((one) =>
        one.artifact_type === type ? { ...one, artifact_id: id, checksum } : one,
      ),
    })),
  }
}
