import * as z from 'zod'
import type { Json } from '../../kernel/json.ts'
import { answerText, contentId, evidenceRef, listOf, mode, riskLevel, sentence, timestamp } from './scalars.ts'

/** The type of a question. */
export const questionType = z.enum(['clarification', 'blocker', 'optimization', 'risk_mitigation'])
/** Highest first: over budget, the first ones are kept. */
export const blockingLevel = z.enum(['critical', 'high', 'medium', 'low'])

/** The keys of the Coordinator's own questions. */
const ownKeys: readonly string[] = ['evidence_not_found', 'no_way_back']

/** Keys that name more than one question, each with its position: an answer by key must mean one question. */
export function keyProblems(questions: readonly { readonly key: string }[]): { at: number; problem: string }[] {
  const keys = questions.map(({ key }) => key)
  return keys.flatMap((key, at) => {
    const first = keys.indexOf(key)
    if (first < at) return [{ at, problem: `has the key ${key}, as [${first}] has; give each question its own` }]
    return ownKeys.includes(key) ? [{ at, problem: `has the key ${key}, under which the Coordinator asks itself` }] : []
  })
}

/** The effect of an answer on the plan. Steps are named as in the intent. */
const answerEffect = z.strictObject({
  drop_steps: z.array(contentId).max(80).optional(),
  review_steps: z.array(contentId).max(80).optional(),
  set_risk: z.record(contentId, riskLevel).optional(),
})

const suggestedAnswer = z.strictObject({
  /** The value that selects this answer; rules see `key=value`. */
  value: contentId,
  answer_text: sentence,
  rationale: sentence,
  effect: answerEffect.optional(),
})

/** Without an answer, `use` takes one of the suggested answers and `block` ends the coordination. */
const defaultStrategy = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('use'), value: contentId, explanation: sentence }),
  z.strictObject({ action: z.literal('block'), explanation: sentence }),
])

const fields = {
  key: contentId,
  type: questionType,
  blocking_level: blockingLevel,
  question_text: z.string().min(10).max(2000),
  context: z.string().min(10).max(4000),
  suggested_answers: z.array(suggestedAnswer).min(1).max(12),
  default_strategy: defaultStrategy,
}

/** An open question of an author, from an intent or from a command of the registry. */
export const openQuestion = z
  .strictObject(fields)
  .superRefine(({ suggested_answers, default_strategy: fallback }, issues) => {
    const say = (path: string[], message: string) => issues.addIssue({ code: 'custom', path, message })
    const values = suggested_answers.map((answer) => answer.value)
    if (new Set(values).size < values.length) say(['suggested_answers'], 'two suggested answers share a value')
    if (fallback.action === 'use' && !values.includes(fallback.value))
      say(['default_strategy', 'value'], `must be one of the suggested answers: ${values.join(', ')}`)
  })

/** See `openQuestion`. */
export type OpenQuestion = z.infer<typeof openQuestion>

const question = z.strictObject({
  question_id: z.string().regex(/^q_[0-9a-f]{16}$/),
  ...fields,
  /** May exceed the author's limit: the Coordinator appends why earlier answers were refused. */
  context: z.string().min(10).max(8000),
  evidence_refs: z.array(evidenceRef),
  impact: z.strictObject({
    scope: z.enum(['entire_plan', 'single_action', 'several_actions']),
    description: z.string(),
    affected_steps: z.array(contentId),
  }),
})

/** The questions of one round. */
export const questionPack = z.strictObject({
  pack_id: z.string().regex(/^qpack_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string(),
  /** Starts at 1 and rises each time answers conflict with the rules. */
  round: z.int().min(1),
  questions: z.array(question).min(1).max(50),
  policy_constraints: z.strictObject({
    execution_mode: mode,
    question_budget: z.int().min(0),
    budget_consumed: z.int().min(0),
    budget_remaining: z.int(),
  }),
  /** Questions that are not asked, each with the default that replaces an answer. */
  resolved_by_default: listOf({ question_id: z.string(), key: contentId, value: contentId, reason: z.string() }),
})

/** See `question`. */
export type Question = z.infer<typeof question>
/** See `questionPack`. */
export type QuestionPack = z.infer<typeof questionPack>

const about = {
  question_id: z.string(),
  provided_at: timestamp.optional(),
  provided_by: z.enum(['human', 'fallback', 'policy_default']),
  rationale: sentence.optional(),
}

const json: z.ZodType<Json> = z.json()

/** An answer to one question. An answer in other words has one effect: a person reviews the affected steps. */
const answer = z.discriminatedUnion('answer_type', [
  /** One of the suggested answers, by its value. */
  z.strictObject({ ...about, answer_type: z.literal('choice'), value: contentId.optional() }),
  /** An answer in words. Words that equal a suggested answer choose it. */
  z.strictObject({ ...about, answer_type: z.literal('text'), answer_text: answerText }),
  /** An answer as data, up to 4,000 characters of JSON. */
  z.strictObject({ ...about, answer_type: z.literal('structured'), answer_data: json }),
  /** The default of the question. */
  z.strictObject({ ...about, answer_type: z.literal('fallback'), value: contentId.optional() }),
])

/** The answers to one question pack. */
export const answerPack = z.strictObject({
  pack_id: z.string().regex(/^apack_[a-z0-9_]{4,64}$/, 'must be apack_ and 4 to 64 of a-z, 0-9, _'),
  schema_version: z.literal('1.0.0'),
  question_pack_id: z.string(),
  answers: z.array(answer).min(1),
  provided_at: timestamp.optional(),
  metadata: z.record(z.string(), z.json()).optional(),
})

/** See `answerPack`. */
export type AnswerPack = z.infer<typeof answerPack>
/** The answer to one question. */
export type Answer = z.infer<typeof answer>
