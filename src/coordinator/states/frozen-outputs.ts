import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf } from '../checksum.ts'
import { givenOf, mustResolve } from '../given.ts'
import { type GuardTable, judge, unless, unlessProblems } from '../guard-table.ts'
import type { Handler } from '../handler.ts'
import { artifactTypes, listArtifacts } from '../outputs/artifacts.ts'
import { lineageOf } from '../outputs/lineage.ts'
import type { Artifacts, Progress } from '../progress.ts'
import type { RegistryReference } from '../schemas/judgement.ts'
import { problemsOf } from '../schemas/problem.ts'
import type { Lineage, OutputProduced } from '../schemas/record.ts'

type Content = Omit<RegistryReference, 'checksum'>

/** Writes the lineage and checks every output once more. */
export const frozenOutputs: Handler = (progress, { sha256, rules }) => {
  const { artifacts, entries } = progress
  const lineage = lineageOf(progress, { sha256, rules })
  const recorded = entries.flatMap(({ outputs_produced }) => outputs_produced)
  return {
    ...judge(frozenGuards, { artifacts, recorded, lineage, used: usedContent(progress), sha256 }, 'all_outputs_frozen'),
    produced: [{ type: 'lineage', artifact: lineage }],
  }
}

/** Every workflow, agent and command of the plan, and every rule that matched. */
function usedContent(progress: Progress): Content[] {
  const { intent, index, steps } = givenOf(progress)
  const rules = progress.artifacts.rule_decisions.flatMap(({ decisions }) =>
    decisions.flatMap(({ matched_rules }) => matched_rules),
  )
  return [
    ...intent.selected_workflows.map((w) => mustResolve(index, 'workflow', w.workflow_id, w.version)),
    ...intent.selected_agents.map((a) => mustResolve(index, 'agent', a.agent_id, a.version)),
    ...steps.map(({ command }) => command),
  ]
    .map(({ kind, id, version }): Content => ({ kind, id, version }))
    .concat(rules.map(({ rule_id, version }) => ({ kind: 'rule', id: rule_id, version })))
}

interface FrozenFacts {
  readonly artifacts: Artifacts
  /** The outputs that the tape recorded as they were made. */
  readonly recorded: readonly OutputProduced[]
  readonly lineage: Lineage
  /** The content that the plan uses. */
  readonly used: readonly Content[]
  readonly sha256: Sha256
}

/** The guards of FROZEN_OUTPUTS. */
// biome-ignore format: tables are audited by eye
export const frozenGuards: GuardTable<FrozenFacts> = [
  ['outputs_have_checksums', ({ artifacts, recorded, sha256 }) => unless(
    listArtifacts(artifacts)
      .filter(({ type, id, artifact }) => {
        const checksum = checksumOf(artifact, sha256)
        return !recorded.some((one) => one.artifact_type === type && one.artifact_id === id && one.checksum === checksum)
      })
      .map(({ name }) => name),
    'Every output has the checksum that was recorded when it was made.',
    'Changed since they were recorded, or never recorded'),
    ['checksum_failed', 'An output is not what was recorded.', 'checksum_lineage_failed']],

  ['lineage_is_complete', ({ lineage: { registry_versions, outputs, derived_from_intent }, used, recorded }) => unless(
    [
      ...used
        .filter(({ kind, id, version }) => !registry_versions.some((one) => one.kind === kind && one.id === id && one.version === version))
        .map(({ kind, id, version }) => `${kind} ${id} ${version}`),
      ...recorded.filter((one) => !outputs.some(({ checksum }) => checksum === one.checksum)).map(({ artifact_id }) => artifact_id),
      ...(derived_from_intent === null ? ['the intent'] : []),
    ],
    'Everything can be traced back to the intent and the registry.',
    'Not to be traced back'),
    ['lineage_incomplete', 'The outputs cannot be traced back.', 'checksum_lineage_failed']],

  ['outputs_fit_schema', ({ artifacts }) => unlessProblems(
    listArtifacts(artifacts).flatMap(({ type, name, artifact }) => {
      const { error } = artifactTypes[type].schema.safeParse(artifact)
      const problems = error === undefined ? [] : problemsOf(error, 'schema', name)
      return problems.map(({ code, path, message }) => ({ code, message: `${path}: ${message}.` }))
    }),
    'Every output has its shape.'),
    ['artifact_schema_violation', 'An output does not have its own shape.', 'schema_violated']],
]
