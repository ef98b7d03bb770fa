import { z } from 'zod'
import { jsonValue } from '../runes/json-value.ts'
import { actorCategories, actors, concernNames, type Rune, visibilities } from '../runes/rune.ts'

const concerns = Object.fromEntries(concernNames.map((name) => [name, z.string().optional()]))

const anyRune: z.ZodType = z.object({
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
  /** What the guards of the move found. */
  guards: z.array(z.object({ guard: z.string(), holds: z.boolean(), because: z.string() })).optional(),
  payload: jsonValue,
  payload_sha256: z.string(),
  prev_hash: z.string(),
  hash: z.string(),
  schema_version: z.int(),
  redacted: z.literal(true).optional(),
})

/**
 * A rune as it is read from outside. What its payload holds is described for each kind in the reference of runes; the
 * kinds are too many for one schema, so the type says more than the shape checks.
 */
export const runeShape = anyRune as z.ZodType<Rune>

/** A page of the runes of a session. */
export const runesShape = z.object({
  items: z.array(runeShape),
  /** Where the next page begins: `after` this one, or `before` it with backward. Null: there are no more for now. */
  next: z.int().nullable(),
  /** The last rune of the session. */
  event_id: z.int(),
})

/** A page of the runes of a session. */
export type RunesPage = z.infer<typeof runesShape>
