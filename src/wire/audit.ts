import { z } from 'zod'
import { listOf } from './common.ts'

/** What a verification of the chain of a session found. */
export const auditShape = z.object({
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

/** What a verification of the chain of a session found. */
export type Audit = z.infer<typeof auditShape>

/** The same, with the signed statement of where the log ends. */
export const signedShape = z.object({
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
