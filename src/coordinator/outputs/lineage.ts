import type { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'
import { checksumOf, textAt } from '../checksum.ts'
import {
  type Artifacts,
  type ArtifactType,
  type CoordinationInput,
  coordinatorVersion,
  type Ports,
  type Progress,
} from '../progress.ts'
import { coordinatorSchemas as schemas } from '../schemas/all.ts'
import type { Lineage } from '../schemas/record.ts'

/** A file of a plan that does not verify. */
export interface PlanProblem {
  /** The name of the file. */
  readonly file: string
  /** The check that failed. */
  readonly check: 'schema' | 'checksum' | 'lineage' | 'topology' | 'signature'
  /** The problem, in words for people. */
  readonly message: string
}

/** The parsed JSON files of a plan. */
export type Documents = ReadonlyMap<string, Json>

interface NamedArtifact {
  readonly type: ArtifactType
  /** The name of its files; rounds are numbered. */
  readonly name: string
  readonly id: string
  readonly artifact: unknown
}

/** The schema of each artifact type and the name of its id field, in the order in which artifacts are made. */
export const artifactTypes = {
  precheck_report: { schema: schemas.precheck_report, id: 'report_id' },
  context_bundle: { schema: schemas.context_bundle, id: 'bundle_id' },
  rule_decisions: { schema: schemas.rule_decisions, id: 'decisions_id' },
  risk_assessment: { schema: schemas.risk_assessment, id: 'assessment_id' },
  execution_graph_draft: { schema: schemas.execution_graph, id: 'graph_id' },
  question_pack: { schema: schemas.question_pack, id: 'pack_id' },
  answer_pack: { schema: schemas.answer_pack, id: 'pack_id' },
  execution_graph: { schema: schemas.execution_graph, id: 'graph_id' },
  review_pack: { schema: schemas.review_pack, id: 'pack_id' },
  lineage: { schema: schemas.lineage, id: 'coordinator_run_id' },
  run_summary: { schema: schemas.run_summary, id: 'coordinator_run_id' },
  failure_pack: { schema: schemas.failure_pack, id: 'failure_id' },
} as const satisfies { readonly [T in ArtifactType]: { readonly schema: z.ZodType; readonly id: string } }

/** The id that an artifact carries. */
export function artifactId(type: ArtifactType, artifact: unknown): string {
  return String(Object(artifact)[artifactTypes[type].id])
}

/** All artifacts so far, each with the name of its files. */
export function listArtifacts(artifacts: Artifacts): readonly NamedArtifact[] {
  return (Object.keys(artifactTypes) as ArtifactType[]).flatMap((type) => {
    const held = artifacts[type]
    if (held === undefined) return []
    if (!Array.isArray(held)) return [{ type, name: type, id: artifactId(type, held), artifact: held }]
    return held.map((artifact: unknown, i) => {
      return { type, name: `${type}_${i + 1}`, id: artifactId(type, artifact), artifact }
    })
  })
}

type Origins = Omit<
  Lineage,
  'schema_version' | 'coordinator_run_id' | 'answer_checksums' | 'registry_versions' | 'outputs'
>

/** The inputs by checksum, without the answers: the run id is the same before and after them. */
export function originsOf(input: CoordinationInput, { sha256, rules }: Ports): Origins {
  return {
    coordinator_version: coordinatorVersion,
    rule_engine: rules.version,
    derived_from_intent: textAt(input.intent, 'id') ?? null,
    intent_checksum: inputChecksum('intent', input.intent, sha256),
    policy_checksum: inputChecksum('policy', input.policy, sha256),
    memory_checksum: inputChecksum('memory pack', input.memory, sha256),
    facts_checksum: inputChecksum('fact pack', input.facts, sha256),
    registry_snapshot_id: input.registry.snapshot_id,
    recovers: input.recovers ?? null,
  }
}

/** The checksum of one part of the input. Throws `not_plain_json` for text that is not well-formed, such as a lone surrogate. */
export function inputChecksum(what: string, value: Json, sha256: Sha256): string {
  try {
    return checksumOf(value, sha256)
  } catch (error) {
    if (error instanceof TypeError) throw faults.not_plain_json({ what, problem: error.message }, { cause: error })
    throw error
  }
}

/** The run id of these origins. The same origins always have the same run id. */
export function runIdOf(origins: Origins, { sha256 }: Pick<Ports, 'sha256'>): string {
  return `coord_run_${checksumOf(origins, sha256).slice(0, 32)}`
}

/** The lineage from the intent through the registry to the artifacts so far. */
export function lineageOf({ run_id, input, artifacts, ledger, entries }: Progress, ports: Ports): Lineage {
  return {
    schema_version: '1.0.0',
    coordinator_run_id: run_id,
    ...originsOf(input, ports),
    answer_checksums: ledger.arrived
      .slice(0, ledger.read)
      .map((round) => inputChecksum('answer pack', round, ports.sha256)),
    registry_versions: artifacts.precheck_report?.registry.confirmed ?? [],
    outputs: entries.flatMap(({ outputs_produced }) => outputs_produced),
  }
}

/** The origins that a lineage holds, in the shape they are hashed in. */
// biome-ignore format: every member that is no origin
export function originsIn(lineage: Lineage): Origins {
  const { schema_version: _, coordinator_run_id: __, answer_checksums: ___, registry_versions: ____, outputs: _____, ...origins } = lineage
  return origins
}
