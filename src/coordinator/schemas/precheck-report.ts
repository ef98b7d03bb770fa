import { z } from 'zod'
import { problem } from './problem.ts'
import { redLine } from './red-line.ts'
import { contentKind, mode, riskLevel, semver, sha256Hex } from './scalars.ts'

export const registryReference = z.strictObject({
  kind: contentKind,
  id: z.string(),
  version: semver,
  checksum: sha256Hex,
})

export const precheckReport = z.strictObject({
  report_id: z.string().regex(/^precheck_[0-9a-f]{16}$/),
  schema_version: z.literal('1.1.0'),
  intent_schema_version: z.string(),
  schema_problems: z.array(problem),
  checksum: z.strictObject({ declared: z.string().nullable(), computed: sha256Hex }),
  red_lines: z.array(redLine),
  policy_problems: z.array(problem),
  registry: z.strictObject({
    snapshot_id: sha256Hex,
    /** What the intent's references mean in this registry, and every rule in force. */
    confirmed: z.array(registryReference),
    problems: z.array(problem),
    drift: z.array(problem),
  }),
  effective_mode: mode.nullable(),
  effective_risk: riskLevel.nullable(),
})

export type RegistryReference = z.infer<typeof registryReference>
export type PrecheckReport = z.infer<typeof precheckReport>
