import type { Given } from '../given.ts'
import { type GuardTable, judge, unless } from '../guard-table.ts'
import { type Handler, noted } from '../handler.ts'
import { questionPackOf } from '../questions/pack.ts'
import { type Governed, mayAsk, standingOf } from '../questions/standing.ts'
import type { Question, QuestionPack } from '../schemas/questions.ts'

/** Asks the open questions, as far as the budget allows. */
export const questionsEmitted: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const pack = questionPackOf(progress, given, governed, ports)
  const ids = pack.questions.map(({ question_id }) => question_id)
  return {
    ...judge(questionGuards, { pack, governed, given }, 'questions_emitted'),
    produced: pack.questions.length === 0 ? [] : [{ type: 'question_pack', artifact: pack }],
    ledger: { ...progress.ledger, asked: [...new Set([...progress.ledger.asked, ...ids])] },
    decisions: [
      {
        decision_type: 'question_emission',
        rationale:
          pack.questions.map(({ key, blocking_level, type }) => `${key} (${type}, ${blocking_level})`).join(', ') ||
          'none fits',
        outcome: `${pack.questions.length} asked, ${pack.resolved_by_default.length} settled by default`,
      },
    ],
    audit: pack.questions.map(({ key, question_id, question_text }) =>
      noted('question_emitted', 'info', `${key}: ${question_text}`, [question_id]),
    ),
  }
}

interface QuestionFacts {
  readonly pack: QuestionPack
  readonly governed: Pick<Governed, 'overflow'>
  readonly given: Given
}

/** The guards of QUESTIONS_EMITTED. */
// biome-ignore format: tables are audited by eye
export const questionGuards: GuardTable<QuestionFacts> = [
  ['question_budget_kept', ({ pack: { policy_constraints: budget }, governed }) => unless(
    [
      ...governed.overflow.map(({ key, question_id }) => `${key} (${question_id})`),
      ...(budget.budget_remaining < 0 ? [`${-budget.budget_remaining} over`] : []),
    ],
    `${budget.budget_consumed} of ${budget.question_budget} questions.`,
    `The budget of ${budget.question_budget} has no room for`),
    ['question_budget_exceeded', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['questions_have_evidence', ({ pack, given: { policy: { question_rules: { min_evidence_count: least } } } }) => unless(
    pack.questions.filter(({ evidence_refs }) => new Set(evidence_refs).size < least).map(({ key, question_id }) => `${key} (${question_id})`),
    'Every question rests on evidence.',
    `With less evidence than the ${least} that the policy asks for`),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['questions_have_defaults', ({ pack }) => unless(
    pack.questions.filter((question) => !hasDefault(question)).map(({ key }) => key),
    'Every question says what happens without an answer.',
    'Without a default'),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['blocking_levels_fit_policy', ({ pack, given }) => unless(
    pack.questions.filter((question) => !mayAsk(question, given)).map(({ key, type }) => `${key} (${type})`),
    `${given.context.effective.mode} allows every one of them.`,
    `${given.context.effective.mode} does not allow`),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],
]

function hasDefault({ default_strategy: fallback, suggested_answers }: Question): boolean {
  if (fallback.action !== 'use') return fallback.explanation !== ''
  return suggested_answers.some(({ value }) => value === fallback.value)
}
