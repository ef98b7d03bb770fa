import * as z from 'zod'
import { questionType } from './questions.ts'
import { closed, type Effect, evidenceRef, listOf, mode, riskLevel, sha256Hex, timestamp } from './scalars.ts'

/** How many questions may be asked in a mode, and by a plan of a goal, where no number is named. */
export const questionBudgets = { semi_auto: 3, interactive: 999, goal: 10 } as const

/** Every field of a policy that has an effect, by its path, with the effect and the default. */
// biome-ignore format: tables are audited by eye
export const policyFields: Readonly<Record<string, { readonly effect: string; readonly usual: string }>> = {
  mode:                                { effect: 'The stricter of this and the mode of the intent holds: `interactive`, `semi_auto`, `full_auto`.', usual: 'required' },
  question_budget:                     { effect: 'The smaller of this and that of the intent is how many questions are asked. A critical one too many blocks. With 0 nothing is asked: the defaults stand, and a question without one blocks.', usual: `${questionBudgets.interactive} in \`interactive\`, ${questionBudgets.semi_auto} in \`semi_auto\`, always 0 in \`full_auto\`` },
  risk_profile:                        { effect: 'Sets `max_files_per_commit` where that is missing. Rules see it.', usual: '`safe`' },
  auto_fallback:                       { effect: 'Whether the default of a question that may not be asked stands in for an answer. Otherwise the plan is blocked.', usual: 'true' },
  min_memory_items:                    { effect: 'A memory pack with fewer items blocks the plan.', usual: '0' },
  'constraints.forbidden_operations':  { effect: 'Ids of commands, or effects. An intent that plans one of them is blocked. A name that is neither an effect nor a command of the registry blocks every plan.', usual: 'none' },
  'constraints.allow_destructive':     { effect: 'Without it, an intent is blocked that plans a command which cannot be undone: the registry calls it irreversible and names no rollback. Rules see it.', usual: 'false' },
  'constraints.max_files_per_commit':  { effect: 'A plan is blocked in which a step changes more files in one commit, by the estimates of the registry.', usual: '5 in `safe`, 50 in `aggressive_safe`, 999 in `aggressive`' },
  'constraints.allow_bulk_changes':    { effect: 'Lifts `max_files_per_commit`. Rules see it.', usual: 'false' },
  'question_rules.allowed_types':      { effect: 'Questions of other types are not asked.', usual: 'all four' },
  'question_rules.min_evidence_count': { effect: 'A question with less evidence blocks the plan.', usual: '1' },
  'model_routing.local_only':          { effect: 'An agent with a remote model aborts the plan.', usual: 'false' },
  'model_routing.allowed_providers':   { effect: 'An agent with a model of another provider aborts the plan.', usual: 'any' },
}

/** Fields of version 0.1 that nothing enforced, with their replacements. They are refused. */
export const goneFields = {
  require_verification: 'have the plan verified with "plan verify"; a goal never runs a plan that does not verify.',
  max_retries: 'the tool or the goal that executes the plan says how often it retries.',
  timeout_seconds: 'give the time for answers with the submission, and the time for execution with the goal.',
} as const

/** The limits of the operator, for any intent. The Coordinator enforces every field; `policyFields` says how. */
export const executionPolicy = closed(
  {
    schema_version: z.literal('1.0.0'),
    mode,
    /** The limit of questions; `full_auto` forces it to 0. */
    question_budget: z.int().min(0).optional(),
    risk_profile: z.enum(['safe', 'aggressive_safe', 'aggressive']).default('safe'),
    /** Whether a question that may not be asked falls back to its default; otherwise it blocks. */
    auto_fallback: z.boolean().default(true),
    min_memory_items: z.int().min(0).default(0),
    constraints: closed({
      /** Default: from the risk profile. */
      max_files_per_commit: z.int().min(1).optional(),
      /** Command ids or effects that may not be planned at all. */
      forbidden_operations: z.array(z.string().min(1)).default([]),
      /** Whether a command may be planned that cannot be undone: irreversible, with no rollback in the registry. */
      allow_destructive: z.boolean().default(false),
      /** Whether one commit may change more files than `max_files_per_commit`. */
      allow_bulk_changes: z.boolean().default(false),
    }).prefault({}),
    question_rules: closed({
      allowed_types: z.array(questionType).default([...questionType.options]),
      min_evidence_count: z.int().min(1).default(1),
    }).prefault({}),
    model_routing: closed({
      local_only: z.boolean().default(false),
      /** Default: any provider. */
      allowed_providers: z.array(z.string().min(1)).optional(),
    }).prefault({}),
    /** Notes for people. */
    metadata: z.record(z.string(), z.json()).optional(),
  },
  goneFields,
).transform((policy) => ({
  ...policy,
  question_budget: policy.mode === 'full_auto' ? 0 : (policy.question_budget ?? questionBudgets[policy.mode]),
  constraints: {
    ...policy.constraints,
    max_files_per_commit: policy.constraints.max_files_per_commit ?? filesPerCommit[policy.risk_profile],
  },
}))

const filesPerCommit = { safe: 5, aggressive_safe: 50, aggressive: 999 } as const

/** The policy of plans and goals where none is named: ask people, change nothing destructive. */
export const defaultPolicy = { schema_version: '1.0.0', mode: 'interactive' } as const

/** See `executionPolicy`. */
export type ExecutionPolicy = z.output<typeof executionPolicy>

/** The operation of this command that the policy forbids, as words for a message; null when it forbids none. */
export function forbids({ constraints }: ExecutionPolicy, planned: Planned): string | null {
  const { command_id, effects: has, isDestructive } = planned
  const named = constraints.forbidden_operations.find(
    (operation) => operation === command_id || has.some((effect) => effect === operation),
  )
  if (named !== undefined) return `the operation ${named}, which ${command_id} is or has`
  if (!isDestructive || constraints.allow_destructive) return null
  return `what cannot be undone (allow_destructive is false): ${command_id} is irreversible and has no rollback`
}

interface Planned {
  readonly command_id: string
  readonly effects: readonly Effect[]
  readonly isDestructive: boolean
}

/** The memory about the project. It must exist; it may be empty. */
export const memoryPack = z.strictObject({
  schema_version: z.literal('1.0.0'),
  project_id: z.string().min(1),
  memories: listOf({
    /** The id that `evidence_refs` cite. */
    id: evidenceRef,
    type: z.string().min(1),
    scope: z.enum(['project', 'repo', 'task', 'agent']),
    content: z.string(),
    confidence: z.number().min(0).max(1),
  }),
  generated_at: timestamp.optional(),
})

/** See `memoryPack`. */
export type MemoryPack = z.infer<typeof memoryPack>

const evidence = z.strictObject({
  id: z.string().regex(/^ev[1-9]\d*$/),
  source_file: z.string().min(1),
  category: z.enum(['language', 'manifest', 'script', 'ci', 'test', 'owner']),
  snippet: z.string().max(400),
  line: z.int().min(1),
  description: z.string().min(1),
})

const cited = { evidence_refs: z.array(evidenceRef).min(1) }

/** The result of a scan of the project. Every fact says in which file and line it is. */
export const factPack = z.strictObject({
  schema_version: z.literal('1.0.0'),
  project_id: z.string().min(1),
  /** SHA-256 over every scanned path with the checksum of its text. */
  repo_fingerprint: sha256Hex,
  languages: listOf({ name: z.string(), files: z.int().min(1), ...cited }),
  manifests: listOf({ path: z.string(), ecosystem: z.string(), ...cited }),
  scripts: listOf({ name: z.string(), runs: z.string(), path: z.string(), ...cited }),
  ci: listOf({ path: z.string(), system: z.string(), ...cited }),
  tests: listOf({ path: z.string(), ...cited }),
  owners: listOf({ pattern: z.string(), owners: z.array(z.string()), ...cited }),
  evidence: z.array(evidence).min(1),
  scanned_at: timestamp.optional(),
})

/** See `factPack`. */
export type FactPack = z.infer<typeof factPack>
/** The file and line that a fact rests on. */
export type FactEvidence = z.infer<typeof evidence>

/** Everything the plan is judged against, except the registry. */
export const contextBundle = z.strictObject({
  bundle_id: z.string().regex(/^ctx_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  memory_context: memoryPack,
  fact_pack: factPack,
  /** The policy, with its defaults filled in. */
  policy: executionPolicy,
  effective: z.strictObject({
    mode,
    question_budget: z.int().min(0),
    question_policy: z.enum(['conceptual_only', 'blockers_only', 'never']),
    risk: riskLevel,
  }),
})

/** See `contextBundle`. */
export type ContextBundle = z.infer<typeof contextBundle>
