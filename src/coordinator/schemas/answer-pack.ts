import { z } from 'zod'
import { contentId, sentence } from './scalars.ts'

export const answerPack = z.strictObject({
  pack_id: z.string().regex(/^apack_[a-z0-9_]{4,64}$/, 'must be apack_ and 4 to 64 of a-z, 0-9, _'),
  schema_version: z.literal('1.0.0'),
  question_pack_id: z.string(),
  answers: z
    .array(
      z.strictObject({
        question_id: z.string(),
        /** `fallback` asks for the question's default; `choice` names one of the suggested answers. */
        answer_type: z.enum(['choice', 'fallback']),
        value: contentId.optional(),
        provided_at: z.iso.datetime().optional(),
        provided_by: z.enum(['human', 'fallback', 'policy_default']),
        rationale: sentence.optional(),
      }),
    )
    .min(1),
  provided_at: z.iso.datetime().optional(),
  metadata: z.record(z.string(), z.json()).optional(),
})

/** What may arrive while a coordination waits. Time is an input like any other. */
export const answerRound = z.union([
  z.strictObject({ answer_pack: answerPack }),
  z.strictObject({ timed_out: z.literal(true) }),
  z.strictObject({ withdrawn: z.literal(true) }),
])

export type AnswerPack = z.infer<typeof answerPack>
