import * as z from 'zod'
import { contextBundle, executionPolicy, factPack, memoryPack } from './context.ts'
import { executionIntent } from './intent.ts'
import { precheckReport, riskAssessment, ruleDecisions } from './judgement.ts'
import { executionGraph, failurePack, reviewPack, runSummary } from './plan.ts'
import { answerPack, questionPack } from './questions.ts'
import { auditEntry, auditLog, lineage, runTape } from './record.ts'
import { registryFile, registrySnapshot } from './registry.ts'
import { listOf } from './scalars.ts'

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
  const entries = Object.entries(coordinatorSchemas)
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input' })]),
  ) as Readonly<Record<CoordinatorSchemaName, object>>
}

/** The parts of a coordination that `freeze` takes. */
export const coordinationShape = z.strictObject({
  run_id: z.string(),
  tape: runTape,
  audit: z.array(auditEntry),
  lineage,
  artifacts: z.strictObject({
    precheck_report: precheckReport.optional(),
    context_bundle: contextBundle.optional(),
    rule_decisions: z.array(ruleDecisions),
    risk_assessment: z.array(riskAssessment),
    execution_graph_draft: z.array(executionGraph),
    question_pack: z.array(questionPack),
    answer_pack: z.array(answerPack),
    execution_graph: executionGraph.optional(),
    review_pack: reviewPack.optional(),
    lineage: lineage.optional(),
    run_summary: runSummary.optional(),
    failure_pack: failurePack.optional(),
  }),
})

/** The rounds from outside. The coordination itself reports whether an answer pack fits. */
export const roundsShape = z.array(
  z.union(
    [
      z.strictObject({ answer_pack: z.unknown() }),
      z.strictObject({ timed_out: z.literal(true) }),
      z.strictObject({ withdrawn: z.literal(true) }),
    ],
    { error: 'must be { answer_pack }, { timed_out: true } or { withdrawn: true }' },
  ),
)

/** Choices by key or id of a question. */
export const choicesShape = z.record(
  z.string(),
  z.union([z.string(), z.strictObject({ text: z.string() }), z.strictObject({ data: z.unknown() })], {
    error: 'must be one of the values, { text } or { data }',
  }),
)

/** The parsed files of a registry. */
export const sourcesShape = listOf({ name: z.string(), content: z.unknown() })

/** The files of a plan, text by name. */
export const filesShape = z.record(z.string(), z.string())
