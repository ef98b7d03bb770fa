import { z } from 'zod'
import { blockingLevel, defaultStrategy, questionType, suggestedAnswer } from './question.ts'
import { contentId, evidenceRef, mode } from './scalars.ts'

export const question = z.strictObject({
  question_id: z.string().regex(/^q_[0-9a-f]{16}$/),
  key: contentId,
  type: questionType,
  blocking_level: blockingLevel,
  question_text: z.string().min(10).max(2000),
  context: z.string().min(10).max(8000),
  evidence_refs: z.array(evidenceRef),
  suggested_answers: z.array(suggestedAnswer).min(1),
  default_strategy: defaultStrategy,
  impact: z.strictObject({
    scope: z.enum(['entire_plan', 'single_action', 'several_actions']),
    description: z.string(),
    affected_steps: z.array(contentId),
  }),
})

export const questionPack = z.strictObject({
  pack_id: z.string().regex(/^qpack_[0-9a-f]{16}$/),
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  intent_id: z.string(),
  /** 1, and one more each time answers conflicted with the rules. */
  round: z.int().min(1),
  questions: z.array(question).min(1).max(50),
  policy_constraints: z.strictObject({
    execution_mode: mode,
    question_budget: z.int().min(0),
    budget_consumed: z.int().min(0),
    budget_remaining: z.int(),
  }),
  /** Uncertainties that are not asked, and what stands in for an answer. */
  resolved_by_default: z.array(
    z.strictObject({ question_id: z.string(), key: contentId, value: contentId, reason: z.string() }),
  ),
})

export type Question = z.infer<typeof question>
export type QuestionPack = z.infer<typeof questionPack>
