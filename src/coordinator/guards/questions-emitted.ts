import type { Given } from '../given.ts'
import { type Governed, mayAsk } from '../questions/govern.ts'
import { type Finding, unless } from '../reading.ts'
import type { QuestionPack } from '../schemas/question-pack.ts'

export interface QuestionFindings {
  readonly pack: QuestionPack
  readonly governed: Pick<Governed, 'overflow'>
  readonly given: Given
}

export const questionGuards = {
  question_budget_kept: ({ pack, governed }: QuestionFindings): Finding =>
    unless(
      [
        ...governed.overflow.map(({ key, question_id }) => `${key} (${question_id})`),
        ...(pack.policy_constraints.budget_remaining < 0 ? [`${-pack.policy_constraints.budget_remaining} over`] : []),
      ],
      `${pack.policy_constraints.budget_consumed} of ${pack.policy_constraints.question_budget} questions.`,
      `The budget of ${pack.policy_constraints.question_budget} has no room for`,
    ),
  questions_have_evidence: ({ pack, given }: QuestionFindings): Finding =>
    unless(
      pack.questions
        .filter(({ evidence_refs }) => new Set(evidence_refs).size < given.policy.question_rules.min_evidence_count)
        .map(({ key, question_id }) => `${key} (${question_id})`),
      'Every question rests on evidence.',
      `With less evidence than the ${given.policy.question_rules.min_evidence_count} that the policy asks for`,
    ),
  questions_have_defaults: ({ pack }: QuestionFindings): Finding =>
    unless(
      pack.questions
        .filter(({ default_strategy: fallback, suggested_answers }) =>
          fallback.action === 'use'
            ? !suggested_answers.some(({ value }) => value === fallback.value)
            : fallback.explanation === '',
        )
        .map(({ key }) => key),
      'Every question says what happens without an answer.',
      'Without a default',
    ),
  blocking_levels_fit_policy: ({ pack, given }: QuestionFindings): Finding =>
    unless(
      pack.questions.filter((question) => !mayAsk(question, given)).map(({ key, type }) => `${key} (${type})`),
      `${given.context.effective.mode} allows every one of them.`,
      `${given.context.effective.mode} does not allow`,
    ),
} as const
