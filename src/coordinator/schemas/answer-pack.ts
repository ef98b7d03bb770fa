import { z } from 'zod'
import { answerText, contentId, sentence, timestamp } from './scalars.ts'

const about = {
  question_id: z.string(),
  provided_at: timestamp.optional(),
  provided_by: z.enum(['human', 'fallback', 'policy_default']),
  rationale: sentence.optional(),
}

/** An answer to one question. What is not one of the suggested answers has no effect but that a person reviews the steps. */
const answer = z.discriminatedUnion('answer_type', [
  /** One of the suggested answers, by its value. */
  z.strictObject({ ...about, answer_type: z.literal('choice'), value: contentId.optional() }),
  /** In words. Words that are a suggested answer choose it. */
  z.strictObject({ ...about, answer_type: z.literal('text'), answer_text: answerText }),
  /** As data, up to 4,000 characters of JSON. */
  z.strictObject({ ...about, answer_type: z.literal('structured'), answer_data: z.json() }),
  /** The default of the question. */
  z.strictObject({ ...about, answer_type: z.literal('fallback'), value: contentId.optional() }),
])

export const answerPack = z.strictObject({
  pack_id: z.string().regex(/^apack_[a-z0-9_]{4,64}$/, 'must be apack_ and 4 to 64 of a-z, 0-9, _'),
  schema_version: z.literal('1.0.0'),
  question_pack_id: z.string(),
  answers: z.array(answer).min(1),
  provided_at: timestamp.optional(),
  metadata: z.record(z.string(), z.json()).optional(),
})

/** What may arrive while a coordination waits. Time is an input like any other. */
export const answerRound = z.union([
  z.strictObject({ answer_pack: answerPack }),
  z.strictObject({ timed_out: z.literal(true) }),
  z.strictObject({ withdrawn: z.literal(true) }),
])

export type AnswerPack = z.infer<typeof answerPack>
export type Answer = z.infer<typeof answer>
