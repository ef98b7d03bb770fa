import { z } from 'zod'
import { contentId, riskLevel, sentence } from './scalars.ts'

export const questionTypes = ['clarification', 'blocker', 'optimization', 'risk_mitigation'] as const
/** Highest first: over budget, the first ones are kept. */
export const blockingLevels = ['critical', 'high', 'medium', 'low'] as const

export const questionType = z.enum(questionTypes)
export const blockingLevel = z.enum(blockingLevels)

/** The keys of what the Coordinator asks by itself. */
export const ownKeys: readonly string[] = ['evidence_not_found', 'no_way_back']

/** Why the questions cannot be told apart by their keys, each with its position; what is answered by key must mean one of them. */
export function keyProblems(questions: readonly { readonly key: string }[]): { at: number; problem: string }[] {
  const keys = questions.map(({ key }) => key)
  return keys.flatMap((key, at) => {
    const first = keys.indexOf(key)
    if (first < at) return [{ at, problem: `has the key ${key}, as [${first}] has; give each question its own` }]
    return ownKeys.includes(key) ? [{ at, problem: `has the key ${key}, under which the Coordinator asks itself` }] : []
  })
}

/** What choosing an answer does to the plan. Steps are named as in the intent. */
export const answerEffect = z.strictObject({
  drop_steps: z.array(contentId).max(80).optional(),
  review_steps: z.array(contentId).max(80).optional(),
  set_risk: z.record(contentId, riskLevel).optional(),
})

export const suggestedAnswer = z.strictObject({
  /** What an answer pack says to choose it, and what rules see as `key=value`. */
  value: contentId,
  answer_text: sentence,
  rationale: sentence,
  effect: answerEffect.optional(),
})

/** `use` takes one of the suggested answers when nobody answers; `block` ends the coordination instead. */
export const defaultStrategy = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('use'), value: contentId, explanation: sentence }),
  z.strictObject({ action: z.literal('block'), explanation: sentence }),
])

/** Something its author knows to be open: an intent or a registry command brings it along. */
export const openQuestion = z
  .strictObject({
    key: contentId,
    type: questionType,
    blocking_level: blockingLevel,
    question_text: z.string().min(10).max(2000),
    context: z.string().min(10).max(4000),
    suggested_answers: z.array(suggestedAnswer).min(1).max(12),
    default_strategy: defaultStrategy,
  })
  .superRefine((question, issues) => {
    const values = question.suggested_answers.map((answer) => answer.value)
    if (new Set(values).size < values.length)
      issues.addIssue({ code: 'custom', path: ['suggested_answers'], message: 'two suggested answers share a value' })
    const fallback = question.default_strategy
    if (fallback.action === 'use' && !values.includes(fallback.value))
      issues.addIssue({
        code: 'custom',
        path: ['default_strategy', 'value'],
        message: `must be one of the suggested answers: ${values.join(', ')}`,
      })
  })

export type QuestionType = (typeof questionTypes)[number]
export type BlockingLevel = (typeof blockingLevels)[number]
export type AnswerEffect = z.infer<typeof answerEffect>
export type SuggestedAnswer = z.infer<typeof suggestedAnswer>
export type DefaultStrategy = z.infer<typeof defaultStrategy>
export type OpenQuestion = z.infer<typeof openQuestion>
