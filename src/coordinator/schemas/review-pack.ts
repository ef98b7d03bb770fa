import { z } from 'zod'
import { redLine } from './problem.ts'
import { contentId, reviewCategory, riskLevel } from './scalars.ts'

const measure = z.strictObject({
  /** The sum over the steps that have an estimate, for files per commit the highest; null if none has one. */
  estimated: z.number().min(0).nullable(),
  /** Null: there is no limit. */
  allowed: z.number().min(0).nullable(),
  /** `not_evaluated`: the known sum is allowed, and at least one step has no estimate. */
  within: z.enum(['yes', 'no', 'not_evaluated']),
  /** Where the figure comes from, step by step. A file that several steps change counts for the first of them. */
  basis: z.array(z.strictObject({ step_id: contentId, amount: z.number().min(0), source: z.string() })),
  /** Steps whose registry entry says nothing about it. */
  not_estimated: z.array(contentId),
})

/** The figures of the impact, in the order in which they are shown. */
export const measures = ['files', 'files_per_commit', 'commits', 'tokens', 'cost_usd'] as const

/** What a reviewer reads before anything runs. */
export const reviewPack = z.strictObject({
  pack_id: z.string().regex(/^review_[0-9a-f]{16}$/),
  schema_version: z.literal('2.2.0'),
  intent_id: z.string(),
  graph_id: z.string(),
  plan_summary: z.strictObject({
    goal: z.string(),
    success_criteria: z.array(z.string()),
    phases: z.int().min(0),
    actions: z.int().min(0),
    dropped_steps: z.array(z.strictObject({ step_id: contentId, reason: z.string() })),
    /** The longest way through the steps that have an estimate; null if none has one. */
    estimated_duration_ms: z.int().min(0).nullable(),
    duration_not_estimated: z.array(contentId),
    /** 0 to 100: nodes, edges that branch, and agents that have to meet. */
    complexity_score: z.int().min(0).max(100),
  }),
  risk: z.strictObject({
    overall: riskLevel,
    justification: z.array(
      z.strictObject({ reason: z.string(), level: riskLevel, evidence_refs: z.array(z.string()) }),
    ),
  }),
  change_impact: z.strictObject({
    files: measure,
    files_per_commit: measure,
    commits: measure,
    tokens: measure,
    cost_usd: measure,
  }),
  rollback_guide: z.array(
    z.strictObject({
      order: z.int().min(1),
      step_id: contentId,
      node_id: z.string(),
      is_irreversible: z.boolean(),
      instruction: z.string(),
    }),
  ),
  review_gates: z.array(
    z.strictObject({
      node_id: z.string(),
      category: reviewCategory.nullable(),
      step_id: contentId.nullable(),
      criteria: z.array(z.string()),
    }),
  ),
  requires_review: z.array(reviewCategory),
  warnings: z.array(z.strictObject({ step_id: contentId, rule_id: contentId, reason: z.string() })),
  /** All five, on the plan as it is about to be frozen. */
  red_lines: z.array(redLine).length(5),
})

/** See `reviewPack`. */
export type ReviewPack = z.infer<typeof reviewPack>
/** One figure of the impact. */
export type Measure = z.infer<typeof measure>
