import { z } from 'zod'
import { executionPolicy } from './policy.ts'
import { evidenceRef, mode, riskLevel, sha256Hex, timestamp } from './scalars.ts'

/** What is remembered about the project. It must exist; it may be empty. */
export const memoryPack = z.strictObject({
  schema_version: z.literal('1.0.0'),
  project_id: z.string().min(1),
  memories: z.array(
    z.strictObject({
      /** What an `evidence_refs` names. */
      id: evidenceRef,
      type: z.string().min(1),
      scope: z.enum(['project', 'repo', 'task', 'agent']),
      content: z.string(),
      confidence: z.number().min(0).max(1),
    }),
  ),
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

/** What a scan of the project found. Every fact says in which file and line. */
export const factPack = z.strictObject({
  schema_version: z.literal('1.0.0'),
  project_id: z.string().min(1),
  /** SHA-256 over every scanned path with the checksum of its text. */
  repo_fingerprint: sha256Hex,
  languages: z.array(z.strictObject({ name: z.string(), files: z.int().min(1), ...cited })),
  manifests: z.array(z.strictObject({ path: z.string(), ecosystem: z.string(), ...cited })),
  scripts: z.array(z.strictObject({ name: z.string(), runs: z.string(), path: z.string(), ...cited })),
  ci: z.array(z.strictObject({ path: z.string(), system: z.string(), ...cited })),
  tests: z.array(z.strictObject({ path: z.string(), ...cited })),
  owners: z.array(z.strictObject({ pattern: z.string(), owners: z.array(z.string()), ...cited })),
  evidence: z.array(evidence).min(1),
  scanned_at: timestamp.optional(),
})

/** See `factPack`. */
export type FactPack = z.infer<typeof factPack>
/** The file and line that a fact rests on. */
export type FactEvidence = z.infer<typeof evidence>

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

/** See `contextBundle`. */
export type ContextBundle = z.infer<typeof contextBundle>
