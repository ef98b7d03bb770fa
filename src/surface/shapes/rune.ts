import { z } from 'zod'
import { actorCategories, actors } from '../../runes/actor.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { concernNames, type Rune, visibilities } from '../../runes/rune.ts'

const concerns = Object.fromEntries(concernNames.map((name) => [name, z.string().optional()]))

/** A rune as it is read from outside. What its payload holds is described for each kind in the reference of runes. */
export const runeShape = z.object({
  event_id: z.int(),
  rune_id: z.string(),
  session_id: z.string(),
  kind: z.string(),
  visibility: z.enum(visibilities),
  at: z.int(),
  actor: z.enum(actors),
  actor_category: z.enum(actorCategories),
  ...concerns,
  machine: z.string().optional(),
  subject_id: z.string().optional(),
  from: z.string().nullable().optional(),
  to: z.string().optional(),
  trigger: z.string().nullable().optional(),
  payload: jsonValue,
  payload_sha256: z.string(),
  prev_hash: z.string(),
  hash: z.string(),
  schema_version: z.int(),
  redacted: z.literal(true).optional(),
}) as unknown as z.ZodType<Rune>

/** Where one subject is, and what may become of it from there. */
export const subjectShape = z.object({
  machine: z.string(),
  subject_id: z.string(),
  state: z.string(),
  meaning: z.string(),
  since: z.int(),
  /** The rune that brought it there. */
  event_id: z.int(),
  allowed: z.array(z.object({ trigger: z.string(), to: z.string(), needs: z.array(z.string()).readonly() })).readonly(),
  forbidden: z.array(z.object({ to: z.string(), because: z.string() })).readonly(),
})

export type SubjectCard = z.infer<typeof subjectShape>
