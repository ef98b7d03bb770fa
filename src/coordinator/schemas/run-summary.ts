import { z } from 'zod'
import { mode, riskLevel } from './scalars.ts'

/** A coordination in one screen. */
export const runSummary = z.strictObject({
  schema_version: z.literal('1.1.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string(),
  title: z.string(),
  final_state: z.literal('DONE'),
  mode,
  overall_risk: riskLevel,
  actions: z.int().min(0),
  review_gates: z.int().min(0),
  dropped_steps: z.int().min(0),
  warnings: z.int().min(0),
  questions_asked: z.int().min(0),
  /** Given by someone. */
  answers_applied: z.int().min(0),
  /** Questions without an answer, settled by their default. */
  defaults_applied: z.int().min(0),
  conflict_rounds: z.int().min(0),
  graph_id: z.string(),
  graph_checksum: z.string(),
})

export type RunSummary = z.infer<typeof runSummary>
