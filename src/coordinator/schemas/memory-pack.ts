import { z } from 'zod'
import { evidenceRef, timestamp } from './scalars.ts'

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

export type MemoryPack = z.infer<typeof memoryPack>
