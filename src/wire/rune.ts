import * as z from 'zod'
import { jsonValue, kinds } from '../runes/kinds.ts'
import { actorCategories, actors, concernNames, type Rune, visibilities } from '../runes/rune.ts'
import { count, flag, listOf } from './common.ts'
import { endpoint } from './endpoint.ts'
import { subjectShape } from './machine.ts'

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
  /** The readings of the move. */
  guards: z.array(z.object({ guard: z.string(), holds: z.boolean(), because: z.string() })).optional(),
  payload: jsonValue,
  /** Null: the payload is empty. */
  payload_sha256: z.string().nullable(),
  prev_hash: z.string(),
  hash: z.string(),
  schema_version: z.int(),
  redacted: z.literal(true).optional(),
})

/** A rune as it is read from outside. There are too many kinds for one schema, so the type says more than the shape. */
export const runeShape = anyRune as z.ZodType<Rune>

/** A page of the runes of a session. */
const runesShape = z.object({
  items: z.array(runeShape),
  /** Where the next page begins: `after` this one, or `before` it with backward. Null: there are no more for now. */
  next: z.int().nullable(),
  /** The last rune of the session. */
  event_id: z.int(),
})
/** A page of the runes of a session. */
export type RunesPage = z.infer<typeof runesShape>

/** The result of verifying the chain of a session. */
const auditShape = z.object({
  session_id: z.string(),
  is_sound: z.boolean(),
  events: z.int(),
  /** The hash of the last event that is proved. */
  head: z.string(),
  /** The first event that is not what was recorded, and how that shows. */
  first_bad: z.object({ event_id: z.int(), problem: z.string() }).nullable(),
  /** Every event whose content was erased, by whom and why. */
  redactions: listOf({
    event_id: z.int(),
    recorded_at: z.int(),
    reason: z.string(),
    redacted_by: z.string().nullable(),
    public_key: z.string().nullable(),
    is_after_mark: z.boolean(),
  }),
})

/** The same, with the signed statement of where the log ends. */
const signedShape = z.object({
  ...auditShape.shape,
  /** A signed statement to keep elsewhere; null if the log is not sound. */
  checkpoint: z
    .object({
      session_id: z.string(),
      event_id: z.int(),
      hash: z.string(),
      at: z.int(),
      public_key: z.string(),
      signature: z.string(),
    })
    .nullable(),
})
/** A verified session with its checkpoint. */
export type Signed = z.infer<typeof signedShape>

/** Whether a kind is selected by a name; `tool.` selects every kind that begins so. */
export const isSelected = (kind: string, name: string) => kind === name || (name.endsWith('.') && kind.startsWith(name))

/** The names in a list that is separated by commas. */
export const namesIn = (given: string) => given.split(',').filter((name) => name !== '')

/** A misspelled kind matches nothing, and the list would look as if nothing had been recorded. */
function refuseUnknownKinds(given: string, context: z.RefinementCtx): void {
  const names = namesIn(given)
  const known = Object.keys(kinds)
  const unknown = names.find((name) => !known.some((kind) => isSelected(kind, name)))
  if (names.length > 0 && unknown === undefined) return
  const shown = unknown === undefined ? 'It names no kind.' : `Unknown kind ${JSON.stringify(unknown)}.`
  context.addIssue(`${shown} Known kinds, which "tool." and the like select by their beginning: ${known.join(', ')}.`)
}

/** The endpoints of the record of a session. */
export const runeEndpoints = {
  listRunes: endpoint('list_runes', 'GET /api/sessions/{session_id}/runes', {
    query: z.strictObject({
      /** Only runes with a greater event id. */
      after: count(z.int().nonnegative()).optional(),
      /** Only runes with a smaller event id. */
      before: count(z.int().positive()).optional(),
      limit: count(z.int().min(1).max(1_000)).prefault(200),
      backward: flag.default(false),
      /** Kinds, separated by commas; `tool.` selects every kind that begins so. */
      kinds: z.string().max(2_000).superRefine(refuseUnknownKinds).optional(),
    }),
    returns: runesShape,
  }),
  stateAt: endpoint('state_at', 'GET /api/sessions/{session_id}/state', {
    query: z.strictObject({ at: count(z.int().nonnegative()).optional() }),
    returns: z.object({
      session_id: z.string(),
      /** The event after which this is so. */
      event_id: z.int(),
      /** When that was; null before the first event. */
      at: z.int().nullable(),
      subjects: z.array(subjectShape),
      /** The moves of this event. */
      moves: z.array(
        z.object({
          machine: z.string(),
          subject_id: z.string(),
          from: z.string().nullable(),
          to: z.string(),
          trigger: z.string().nullable(),
        }),
      ),
    }),
  }),
  auditSession: endpoint('audit_session', 'GET /api/sessions/{session_id}/audit', { returns: auditShape }),
  signSession: endpoint('sign_session', 'POST /api/sessions/{session_id}/checkpoint', { returns: signedShape }),
}
