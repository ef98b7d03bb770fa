import * as z from 'zod'
import { keyProblems, openQuestion } from './questions.ts'
import { contentId, effect, phaseName, riskLevel, semver, sentence, severity, sha256Hex, verdict } from './scalars.ts'

/** The fields of every version of content. */
const versioned = {
  id: contentId,
  version: semver,
  status: z.enum(['draft', 'active', 'frozen', 'deprecated']),
  title: sentence,
  description: sentence.optional(),
  lineage: z.union([
    z.strictObject({ is_root: z.literal(true) }),
    z.strictObject({ parent_version: semver, change_reason: sentence }),
  ]),
  /** The checksum of the canonical entry without `checksum` and `status`. A file may omit it unless it is frozen. */
  checksum: sha256Hex,
}

const workflow = z.strictObject({
  kind: z.literal('workflow'),
  ...versioned,
  phases: z
    .array(
      z.strictObject({
        phase: phaseName,
        /** The role that leads the phase. Default: the first selected agent leads it. */
        role: contentId.optional(),
        /** The commands of this phase. */
        commands: z.array(contentId).default([]),
        /** Whether steps without dependencies may run in parallel. */
        parallel: z.boolean().default(false),
        /** The phases that it follows. Default: the phase listed before. */
        after: z.array(phaseName).optional(),
      }),
    )
    .min(1)
    .max(12),
})

const agent = z.strictObject({
  kind: z.literal('agent'),
  ...versioned,
  roles: z.array(contentId).min(1),
  model: z.strictObject({
    provider: z.string().min(1),
    name: z.string().min(1).optional(),
    locality: z.enum(['local', 'remote']),
  }),
})

const command = z.strictObject({
  kind: z.literal('command'),
  ...versioned,
  effects: z.array(effect).min(1),
  risk_level: riskLevel,
  irreversible: z.boolean().default(false),
  /** The only tools of its run, with the JSON Schema of their arguments. */
  tools: z
    .array(z.strictObject({ name: z.string().min(1), args_schema: z.record(z.string(), z.json()).optional() }))
    .default([]),
  /** The expected cost. A command without an estimate is listed in `not_estimated`. */
  estimate: z
    .strictObject({
      files: z.int().min(0).optional(),
      commits: z.int().min(0).optional(),
      tokens: z.int().min(0).optional(),
      cost_usd: z.number().min(0).optional(),
      duration_ms: z.int().min(0).optional(),
    })
    .prefault({}),
  /** The way to undo it, in words for a person. */
  rollback: sentence.optional(),
  asks: z
    .array(openQuestion)
    .max(10)
    .superRefine((asks, issues) => {
      for (const { at, problem } of keyProblems(asks))
        issues.addIssue({ code: 'custom', path: [at, 'key'], message: problem })
    })
    .default([]),
})

/** One Cedar policy. It says when the rule fires; `verdict` says what firing means. */
const ruleFile = z.strictObject({
  kind: z.literal('rule'),
  ...versioned,
  verdict,
  policy: z.string().min(1).max(20_000),
})

/** An admitted rule, with the annotations of its policy. */
const rule = ruleFile.extend({ severity, reason: sentence })

/** Admitted content. */
export const registryEntry = z.discriminatedUnion('kind', [workflow, agent, command, rule])

/** The checksum may be missing in a file. */
const draft = { checksum: sha256Hex.optional() }
/** Content as it stands in a file. */
export const registryFile = z.discriminatedUnion('kind', [
  workflow.extend(draft),
  agent.extend(draft),
  command.extend(draft),
  ruleFile.extend(draft),
])

/** A whole registry, named by its content. */
export const registrySnapshot = z.strictObject({
  schema_version: z.literal('1.0.0'),
  /** SHA-256 over kind, id, version, status and checksum of every entry: equal ids, equal content. */
  snapshot_id: sha256Hex,
  entries: z.array(registryEntry),
})

/** See `workflow`. */
export type Workflow = z.infer<typeof workflow>
/** See `agent`. */
export type Agent = z.infer<typeof agent>
/** See `command`. */
export type Command = z.infer<typeof command>
/** See `rule`. */
export type Rule = z.infer<typeof rule>
/** See `registryEntry`. */
export type RegistryEntry = z.infer<typeof registryEntry>
/** See `registryFile`. */
export type RegistryFile = z.infer<typeof registryFile>
/** See `registrySnapshot`. */
export type RegistrySnapshot = z.infer<typeof registrySnapshot>
/** The content of one kind. */
export type EntryOf<K extends RegistryEntry['kind']> = Extract<RegistryEntry, { kind: K }>
