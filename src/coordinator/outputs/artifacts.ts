import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import type { Artifacts, ArtifactType } from '../progress.ts'
import { coordinatorSchemas } from '../schemas/all.ts'

/** A file of a plan that does not verify. */
export interface PlanProblem {
  readonly file: string
  readonly check: 'schema' | 'checksum' | 'lineage' | 'topology' | 'signature'
  readonly message: string
}

/** The JSON files of a plan, read. */
export type Documents = ReadonlyMap<string, Json>

interface NamedArtifact {
  readonly type: ArtifactType
  /** The name of its files: rounds are numbered. */
  readonly name: string
  readonly id: string
  readonly artifact: unknown
}

/** How each type is checked, and which of its fields is its id. In the order in which they come about. */
export const artifactTypes = {
  precheck_report: { schema: coordinatorSchemas.precheck_report, id: 'report_id' },
  context_bundle: { schema: coordinatorSchemas.context_bundle, id: 'bundle_id' },
  rule_decisions: { schema: coordinatorSchemas.rule_decisions, id: 'decisions_id' },
  risk_assessment: { schema: coordinatorSchemas.risk_assessment, id: 'assessment_id' },
  execution_graph_draft: { schema: coordinatorSchemas.execution_graph, id: 'graph_id' },
  question_pack: { schema: coordinatorSchemas.question_pack, id: 'pack_id' },
  answer_pack: { schema: coordinatorSchemas.answer_pack, id: 'pack_id' },
  execution_graph: { schema: coordinatorSchemas.execution_graph, id: 'graph_id' },
  review_pack: { schema: coordinatorSchemas.review_pack, id: 'pack_id' },
  lineage: { schema: coordinatorSchemas.lineage, id: 'coordinator_run_id' },
  run_summary: { schema: coordinatorSchemas.run_summary, id: 'coordinator_run_id' },
  failure_pack: { schema: coordinatorSchemas.failure_pack, id: 'failure_id' },
} as const satisfies { readonly [T in ArtifactType]: { readonly schema: z.ZodType; readonly id: string } }

/** The id that an artifact carries. */
export function artifactId(type: ArtifactType, artifact: unknown): string {
  return String(Object(artifact)[artifactTypes[type].id])
}

/** Everything that was produced so far, named. */
export function listArtifacts(artifacts: Artifacts): readonly NamedArtifact[] {
  return (Object.keys(artifactTypes) as ArtifactType[]).flatMap((type) => {
    const held = artifacts[type]
    if (held === undefined) return []
    if (!Array.isArray(held)) return [{ type, name: type, id: artifactId(type, held), artifact: held }]
    return held.map((artifact: unknown, i) => ({
      type,
      name: `${type}_${i + 1}`,
      id: artifactId(type, artifact),
      artifact,
    }))
  })
}
