import { z } from 'zod'
import { jsonObject, jsonValue } from '../json-value.ts'

/** The runes about interactions. */
export const interactionKinds = {
  'interaction.opened': z.strictObject({
    interaction_kind: z.enum(['approval', 'ecs', 'question', 'question_pack', 'settlement', 'notice']),
    prompt: z.string(),
    /** What the answer must look like: form fields, options, or the questions of a pack. */
    request: jsonObject,
    evidence: z.array(jsonValue),
    deadline: z.int().nullable(),
    on_silence: z.enum(['wait', 'cancel', 'auto_decide', 'use_default']),
    digest: z.string().nullable(),
  }),
  'interaction.answered': z.strictObject({
    reply: jsonValue,
    replied_by: z.string(),
    idempotency_key: z.string().nullable(),
  }),
  'interaction.expired': z.strictObject({ effect: z.enum(['cancel', 'auto_decide', 'use_default']) }),
  'interaction.withdrawn': z.strictObject({ reason: z.string() }),
}
