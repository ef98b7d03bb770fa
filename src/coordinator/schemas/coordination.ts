import { z } from 'zod'
import { coordinatorSchemas as shapes } from './all.ts'
import { auditEntry } from './record.ts'

/** What a coordination is frozen from. */
export const coordinationShape = z.strictObject({
  run_id: z.string(),
  tape: shapes.run_tape,
  audit: z.array(auditEntry),
  lineage: shapes.lineage,
  artifacts: z.strictObject({
    precheck_report: shapes.precheck_report.optional(),
    context_bundle: shapes.context_bundle.optional(),
    rule_decisions: z.array(shapes.rule_decisions),
    risk_assessment: z.array(shapes.risk_assessment),
    execution_graph_draft: z.array(shapes.execution_graph),
    question_pack: z.array(shapes.question_pack),
    answer_pack: z.array(shapes.answer_pack),
    execution_graph: shapes.execution_graph.optional(),
    review_pack: shapes.review_pack.optional(),
    lineage: shapes.lineage.optional(),
    run_summary: shapes.run_summary.optional(),
    failure_pack: shapes.failure_pack.optional(),
  }),
})

/** What may arrive from outside. Whether an answer pack fits is told with the coordination. */
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

/** By key or id of a question. */
export const choicesShape = z.record(
  z.string(),
  z.union([z.string(), z.strictObject({ text: z.string() }), z.strictObject({ data: z.unknown() })], {
    error: 'must be one of the values, { text } or { data }',
  }),
)

/** The files of a registry, read. */
export const sourcesShape = z.array(z.strictObject({ name: z.string(), content: z.unknown() }))

/** The files of a plan, name to text. */
export const filesShape = z.record(z.string(), z.string())
