import { z } from 'zod'
import { closed } from './closed.ts'
import { goneFields } from './policy-fields.ts'
import { questionTypes } from './question.ts'
import { type effects, mode } from './scalars.ts'

/** What the operator allows, whatever an intent asks for. The Coordinator enforces every field; `policyFields` says how. */
export const executionPolicy = closed(
  {
    schema_version: z.literal('1.0.0'),
    mode,
    /** Forced to 0 in full_auto. */
    question_budget: z.int().min(0).optional(),
    risk_profile: z.enum(['safe', 'aggressive_safe', 'aggressive']).default('safe'),
    /** Whether a question that may not be asked falls back to its default; otherwise it blocks. */
    auto_fallback: z.boolean().default(true),
    min_memory_items: z.int().min(0).default(0),
    constraints: closed({
      /** Without it, the risk profile decides. */
      max_files_per_commit: z.int().min(1).optional(),
      /** Command ids or effects that may not be planned at all. */
      forbidden_operations: z.array(z.string().min(1)).default([]),
      /** Whether a command may be planned that cannot be undone: irreversible, with no rollback in the registry. */
      allow_destructive: z.boolean().default(false),
      /** Whether one commit may change more files than `max_files_per_commit`. */
      allow_bulk_changes: z.boolean().default(false),
    }).prefault({}),
    question_rules: closed({
      allowed_types: z.array(z.enum(questionTypes)).default([...questionTypes]),
      min_evidence_count: z.int().min(1).default(1),
    }).prefault({}),
    model_routing: closed({
      local_only: z.boolean().default(false),
      /** None means any. */
      allowed_providers: z.array(z.string().min(1)).optional(),
    }).prefault({}),
    /** Notes for people. */
    metadata: z.record(z.string(), z.json()).optional(),
  },
  goneFields,
).transform((policy) => ({
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

/** The operation of this command that the policy forbids, as words for a message; null when it forbids none. */
export function forbids(
  { constraints }: ExecutionPolicy,
  { command_id, effects: has, isDestructive }: Planned,
): string | null {
  const named = constraints.forbidden_operations.find(
    (operation) => operation === command_id || has.some((effect) => effect === operation),
  )
  if (named !== undefined) return `the operation ${named}, which ${command_id} is or has`
  if (!isDestructive || constraints.allow_destructive) return null
  return `what cannot be undone (allow_destructive is false): ${command_id} is irreversible and has no rollback`
}

interface Planned {
  readonly command_id: string
  readonly effects: readonly (typeof effects)[number][]
  readonly isDestructive: boolean
}
