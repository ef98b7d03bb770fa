import type { Coordination } from '../../coordinator/coordinate.ts'
import type { FailurePack } from '../../coordinator/schemas/failure-pack.ts'
import type { QuestionPack } from '../../coordinator/schemas/question-pack.ts'

/** What became of an intent, in a few lines. */
export function planLines({
  state,
  run_id,
  artifacts,
}: Pick<Coordination, 'state' | 'run_id' | 'artifacts'>): readonly string[] {
  const { review_pack: review, failure_pack: failure } = artifacts
  const decisions = artifacts.rule_decisions.at(-1)?.decisions ?? []
  const width = Math.max(0, ...decisions.map(({ step_id }) => step_id.length))
  const verdicts = decisions.map(
    ({ step_id, decision, reason }) =>
      `  ${step_id.padEnd(width)}  ${(decision ?? 'undecidable').padEnd(14)}  ${reason}`,
  )
  if (failure !== undefined) return [...failureLines(failure), ...(verdicts.length > 0 ? ['', ...verdicts] : [])]
  if (review === undefined) return [`${state}  ${run_id}`]
  const { plan_summary: plan, risk, review_gates } = review
  return [
    `${state}  ${run_id}`,
    plan.goal,
    `${count(plan.actions, 'action')} in ${count(plan.phases, 'phase')}, risk ${risk.overall}, ${count(review_gates.length, 'review gate')}.`,
    ...verdicts,
    ...plan.dropped_steps.map(({ step_id, reason }) => `  left out: ${step_id}. ${reason}`),
  ]
}

export function failureLines(failure: FailurePack): readonly string[] {
  return [
    `${failure.outcome}: ${failure.message}`,
    `${failure.failure_type} (${failure.cause}), in ${failure.failed_at_state}.${failure.needs_person ? ' A person has to look.' : ''}`,
    ...failure.problems.map(({ path, message }) => `  ${path === undefined ? '' : `${path}: `}${message}`),
    'What to do:',
    ...failure.recovery_suggestions.map((line) => `  ${line}`),
  ]
}

export function questionLines({ round, questions, resolved_by_default }: QuestionPack): readonly string[] {
  return [
    `AWAITING_ANSWERS  ${count(questions.length, 'question')}, round ${round}`,
    ...questions.flatMap((question) => [
      '',
      `${question.key} (${question.type}, ${question.blocking_level}): ${question.question_text}`,
      `  ${question.context}`,
      ...question.suggested_answers.map(
        ({ value, answer_text, rationale }) => `  ${value}: ${answer_text} ${rationale}`,
      ),
      question.default_strategy.action === 'use'
        ? `  without an answer: ${question.default_strategy.value}. ${question.default_strategy.explanation}`
        : `  without an answer the plan is blocked. ${question.default_strategy.explanation}`,
    ]),
    ...(resolved_by_default.length === 0 ? [] : ['', 'Not asked:']),
    ...resolved_by_default.map(({ key, value, reason }) => `  ${key}: ${value}. ${reason}`),
  ]
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
