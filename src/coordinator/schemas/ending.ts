import { z } from 'zod'
import { problem } from './problem.ts'
import { mode, riskLevel } from './scalars.ts'

/** The kinds of failure. */
export const failureTypes = [
  'constraint_violation',
  'missing_registry',
  'rule_denied',
  'policy_violation',
  'red_line_violation',
] as const

/** Why a coordination ended without a plan, and what can be done about it. */
export const failurePack = z.strictObject({
  failure_id: z.string().regex(/^failure_[0-9a-f]{16}$/),
  schema_version: z.literal('2.0.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string().nullable(),
  outcome: z.enum(['BLOCKED', 'ABORTED']),
  failure_type: z.enum(failureTypes),
  /** The exact cause, one word; `problems` has the details. */
  cause: z.string(),
  message: z.string(),
  failed_at_state: z.string(),
  problems: z.array(problem).min(1),
  recovery_suggestions: z.array(z.string()).min(1),
  /** False: a corrected intent may be submitted at once. True: a person has to look first. */
  needs_person: z.boolean(),
})

/** A kind of failure. */
export type FailureType = (typeof failureTypes)[number]
/** See `failurePack`. */
export type FailurePack = z.infer<typeof failurePack>

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

/** See `runSummary`. */
export type RunSummary = z.infer<typeof runSummary>
