import { z } from 'zod'
import { registryReference } from './precheck-report.ts'
import { outputProduced } from './run-tape.ts'
import { sha256Hex } from './scalars.ts'

/** The coordination that this one takes the place of. */
export const recovers = z.strictObject({
  run_id: z.string(),
  final_state: z.enum(['DONE', 'BLOCKED', 'ABORTED']),
  tape_checksum: sha256Hex,
})

/** From the intent through the registry versions to the outputs: enough to repeat the run and compare. */
export const lineage = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  coordinator_version: z.string(),
  rule_engine: z.string(),
  derived_from_intent: z.string().nullable(),
  /** Over the intent as it was given, its own seal included. */
  intent_checksum: sha256Hex,
  policy_checksum: sha256Hex,
  memory_checksum: sha256Hex,
  facts_checksum: sha256Hex,
  answer_checksums: z.array(sha256Hex),
  registry_snapshot_id: sha256Hex,
  registry_versions: z.array(registryReference),
  recovers: recovers.nullable(),
  outputs: z.array(outputProduced),
})

export type Lineage = z.infer<typeof lineage>
export type Recovers = z.infer<typeof recovers>
