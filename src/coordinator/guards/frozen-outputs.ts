import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf } from '../checksum.ts'
import { artifactTypes, listArtifacts } from '../outputs/artifacts.ts'
import type { Artifacts } from '../progress.ts'
import { type Finding, unless, unlessProblems } from '../reading.ts'
import type { Lineage } from '../schemas/lineage.ts'
import type { RegistryReference } from '../schemas/precheck-report.ts'
import { problemsOf } from '../schemas/problem.ts'
import type { OutputProduced } from '../schemas/run-tape.ts'

export interface FrozenFindings {
  readonly artifacts: Artifacts
  /** What the tape recorded when each output was made. */
  readonly recorded: readonly OutputProduced[]
  readonly lineage: Lineage
  /** What the plan really uses. */
  readonly used: readonly Omit<RegistryReference, 'checksum'>[]
  readonly sha256: Sha256
}

export const frozenGuards = {
  outputs_have_checksums: ({ artifacts, recorded, sha256 }: FrozenFindings): Finding =>
    unless(
      listArtifacts(artifacts)
        .filter(({ type, id, artifact }) => {
          const checksum = checksumOf(artifact, sha256)
          return !recorded.some(
            (one) => one.artifact_type === type && one.artifact_id === id && one.checksum === checksum,
          )
        })
        .map(({ name }) => name),
      'Every output has the checksum that was recorded when it was made.',
      'Changed since they were recorded, or never recorded',
    ),
  lineage_is_complete: ({ lineage, used, recorded }: FrozenFindings): Finding =>
    unless(
      [
        ...used
          .filter(
            ({ kind, id, version }) =>
              !lineage.registry_versions.some((one) => one.kind === kind && one.id === id && one.version === version),
          )
          .map(({ kind, id, version }) => `${kind} ${id} ${version}`),
        ...recorded
          .filter((one) => !lineage.outputs.some(({ checksum }) => checksum === one.checksum))
          .map(({ artifact_id }) => artifact_id),
        ...(lineage.derived_from_intent === null ? ['the intent'] : []),
      ],
      'Everything can be traced back to the intent and the registry.',
      'Not to be traced back',
    ),
  outputs_fit_schema: ({ artifacts }: FrozenFindings): Finding =>
    unlessProblems(
      listArtifacts(artifacts).flatMap(({ type, name, artifact }) => {
        const parsed = artifactTypes[type].schema.safeParse(artifact)
        if (parsed.success) return []
        return problemsOf(parsed.error, 'schema', name).map((problem) => ({
          ...problem,
          message: `${problem.path}: ${problem.message}.`,
        }))
      }),
      'Every output has its shape.',
    ),
} as const
