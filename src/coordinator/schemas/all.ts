import { z } from 'zod'
import { contextBundle, factPack, memoryPack } from './context.ts'
import { failurePack, runSummary } from './ending.ts'
import { executionGraph } from './execution-graph.ts'
import { executionIntent } from './intent.ts'
import { precheckReport, riskAssessment, ruleDecisions } from './judgement.ts'
import { executionPolicy } from './policy.ts'
import { answerPack, questionPack } from './questions.ts'
import { auditLog, lineage, runTape } from './record.ts'
import { registryFile, registrySnapshot } from './registry.ts'
import { reviewPack } from './review-pack.ts'

/** Every shape that goes into the Coordinator or comes out of it. */
export const coordinatorSchemas = {
  execution_intent: executionIntent,
  execution_policy: executionPolicy,
  registry_file: registryFile,
  registry_snapshot: registrySnapshot,
  memory_pack: memoryPack,
  fact_pack: factPack,
  answer_pack: answerPack,
  precheck_report: precheckReport,
  context_bundle: contextBundle,
  rule_decisions: ruleDecisions,
  risk_assessment: riskAssessment,
  execution_graph: executionGraph,
  question_pack: questionPack,
  review_pack: reviewPack,
  run_tape: runTape,
  audit_log: auditLog,
  failure_pack: failurePack,
  run_summary: runSummary,
  lineage,
} as const satisfies Readonly<Record<string, z.ZodType>>

/** The name of a schema. */
export type CoordinatorSchemaName = keyof typeof coordinatorSchemas

/** The same shapes for tools that do not speak zod: JSON Schema 2020-12, as a writer of the file sees them. */
export function coordinatorJsonSchemas(): Readonly<Record<CoordinatorSchemaName, object>> {
  const entries = Object.entries(coordinatorSchemas).map(([name, schema]) => [
    name,
    z.toJSONSchema(schema, { io: 'input' }),
  ])
  return Object.fromEntries(entries) as Readonly<Record<CoordinatorSchemaName, object>>
}
