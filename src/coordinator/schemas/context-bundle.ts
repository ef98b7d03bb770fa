import { z } from 'zod'
import { factPack } from './fact-pack.ts'
import { memoryPack } from './memory-pack.ts'
import { executionPolicy } from './policy.ts'
import { mode, riskLevel } from './scalars.ts'

/** Everything the plan is judged against, beside the registry. */
export const contextBundle = z.strictObject({
  bundle_id: z.string().regex(/^ctx_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  memory_context: memoryPack,
  fact_pack: factPack,
  /** With its defaults filled in. */
  policy: executionPolicy,
  effective: z.strictObject({
    mode,
    question_budget: z.int().min(0),
    question_policy: z.enum(['conceptual_only', 'blockers_only', 'never']),
    risk: riskLevel,
  }),
})

export type ContextBundle = z.infer<typeof contextBundle>
