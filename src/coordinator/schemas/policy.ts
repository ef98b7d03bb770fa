import { z } from 'zod'
import { questionTypes } from './question.ts'
import { type effects, mode } from './scalars.ts'

/** What the operator allows, whatever an intent asks for. */
export const executionPolicy = z
  .strictObject({
    schema_version: z.literal('1.0.0'),
    mode,
    /** Forced to 0 in full_auto. */
    question_budget: z.int().min(0).optional(),
    risk_profile: z.enum(['safe', 'aggressive_safe', 'aggressive']).default('safe'),
    /** Whether a question that may not be asked falls back to its default; otherwise it blocks. */
    auto_fallback: z.boolean().default(true),
    // These three are for whoever executes the plan; the Coordinator passes them on with the context.
    require_verification: z.boolean().default(true),
    max_retries: z.int().min(0).default(3),
    timeout_seconds: z.int().min(1).optional(),
    min_memory_items: z.int().min(0).default(0),
    constraints: z
      .strictObject({
        /** For whoever executes the plan. Without it, the risk profile decides. */
        max_files_per_commit: z.int().min(1).optional(),
        /** Command ids or effects that may not be planned at all. */
        forbidden_operations: z.array(z.string().min(1)).default([]),
        allow_destructive: z.boolean().default(false),
        allow_bulk_changes: z.boolean().default(false),
      })
      .prefault({}),
    question_rules: z
      .strictObject({
        allowed_types: z.array(z.enum(questionTypes)).default([...questionTypes]),
        min_evidence_count: z.int().min(1).default(1),
      })
      .prefault({}),
    model_routing: z
      .strictObject({
        local_only: z.boolean().default(false),
        /** None means any. */
        allowed_providers: z.array(z.string().min(1)).optional(),
      })
      .prefault({}),
    metadata: z.record(z.string(), z.json()).optional(),
  })
  .transform((policy) => ({
    ...policy,
    question_budget: policy.mode === 'full_auto' ? 0 : (policy.question_budget ?? budgets[policy.mode]),
    constraints: {
      ...policy.constraints,
      max_files_per_commit: policy.constraints.max_files_per_commit ?? filesPerCommit[policy.risk_profile],
    },
  }))

const budgets = { semi_auto: 3, interactive: 999 } as const
const filesPerCommit = { safe: 5, aggressive_safe: 50, aggressive: 999 } as const

export type ExecutionPolicy = z.output<typeof executionPolicy>

/** Whether an entry of `forbidden_operations` names this command or one of its effects. */
export function forbids(
  policy: ExecutionPolicy,
  command_id: string,
  has: readonly (typeof effects)[number][],
): string | null {
  const named = policy.constraints.forbidden_operations
  return named.find((operation) => operation === command_id || has.some((effect) => effect === operation)) ?? null
}
