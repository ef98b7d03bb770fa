import { givenOf } from '../given.ts'
import { failureOf, type GuardCause } from '../guards/failure-of.ts'
import { frozenGuards } from '../guards/frozen-outputs.ts'
import type { Handler } from '../handler.ts'
import { lineageOf } from '../outputs/lineage.ts'
import type { Progress } from '../progress.ts'
import { readGuards } from '../reading.ts'
import type { RegistryReference } from '../schemas/precheck-report.ts'
import { mustResolve } from '../steps.ts'

export const frozenOutputs: Handler = (progress, ports) => {
  const lineage = lineageOf(progress, ports)
  const recorded = progress.entries.flatMap(({ outputs_produced }) => outputs_produced)
  const findings = {
    artifacts: progress.artifacts,
    recorded,
    lineage,
    used: usedContent(progress),
    sha256: ports.sha256,
  }
  const guards = readGuards(frozenGuards, findings)
  const failure = failureOf(guards, causes)
  return {
    trigger:
      failure === null
        ? 'all_outputs_frozen'
        : failure.cause === 'artifact_schema_violation'
          ? 'schema_violated'
          : 'checksum_lineage_failed',
    guards,
    produced: [{ type: 'lineage', artifact: lineage }],
    ...(failure === null ? {} : { failure }),
  }
}

const causes: readonly GuardCause[] = [
  ['outputs_fit_schema', 'artifact_schema_violation', 'An output does not have its own shape.'],
  ['outputs_have_checksums', 'checksum_failed', 'An output is not what was recorded.'],
  ['lineage_is_complete', 'lineage_incomplete', 'The outputs cannot be traced back.'],
]

/** Every workflow, agent and command of the plan, and every rule that spoke. */
function usedContent(progress: Progress): Omit<RegistryReference, 'checksum'>[] {
  const { intent, index, steps } = givenOf(progress)
  const rules = progress.artifacts.rule_decisions.flatMap(({ decisions }) =>
    decisions.flatMap(({ matched_rules }) => matched_rules),
  )
  return [
    ...intent.selected_workflows.map((w) => mustResolve(index, 'workflow', w.workflow_id, w.version)),
    ...intent.selected_agents.map((a) => mustResolve(index, 'agent', a.agent_id, a.version)),
    ...steps.map(({ command }) => command),
  ]
    .map(({ kind, id, version }): Omit<RegistryReference, 'checksum'> => ({ kind, id, version }))
    .concat(rules.map(({ rule_id, version }) => ({ kind: 'rule', id: rule_id, version })))
}
