import { z } from 'zod'
import { contentId, reviewCategory, riskLevel } from './scalars.ts'

const measure = z.strictObject({
  estimated: z.number().min(0),
  allowed: z.number().min(0),
  is_within: z.boolean(),
  /** Where the figure comes from, step by step. */
  basis: z.array(z.strictObject({ step_id: contentId, amount: z.number().min(0), source: z.string() })),
  /** Steps whose registry entry says nothing about it; they count as nothing. */
  not_estimated: z.array(contentId),
})

/** What a reviewer reads before anything runs. */
export const reviewPack = z.strictObject({
  pack_id: z.string().regex(/^review_[0-9a-f]{16}$/),
  schema_version: z.literal('2.0.0'),
  intent_id: z.string(),
  graph_id: z.string(),
  plan_summary: z.strictObject({
    goal: z.string(),
    success_criteria: z.array(z.string()),
    phases: z.int().min(0),
    actions: z.int().min(0),
    dropped_steps: z.array(z.strictObject({ step_id: contentId, reason: z.string() })),
    estimated_duration_ms: z.int().min(0),
    /** 0 to 100: nodes, edges that branch, and agents that have to meet. */
    complexity_score: z.int().min(0).max(100),
  }),
  risk: z.strictObject({
    overall: riskLevel,
    justification: z.array(
      z.strictObject({ reason: z.string(), level: riskLevel, evidence_refs: z.array(z.string()) }),
    ),
  }),
  change_impact: z.strictObject({ files: measure, commits: measure, tokens: measure, cost_usd: measure }),
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
})

export type ReviewPack = z.infer<typeof reviewPack>
export type Measure = z.infer<typeof measure>
