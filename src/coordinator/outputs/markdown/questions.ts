import type { FailurePack } from '../../schemas/failure-pack.ts'
import type { QuestionPack } from '../../schemas/question-pack.ts'
import { bullets, page, plain } from './text.ts'

export function questionsMarkdown({ pack_id, round, questions, resolved_by_default }: QuestionPack): string {
  return page(
    `# Questions, round ${round}`,
    `Answer with \`question_pack_id\` ${pack_id}.`,
    ...questions.flatMap((question) => [
      `## ${plain(question.question_text)}`,
      `${question.question_id}, ${question.type}, ${question.blocking_level}. ${plain(question.impact.description)}`,
      plain(question.context),
      bullets(
        question.suggested_answers.map(
          ({ value, answer_text, rationale }) => `**${plain(value)}**: ${plain(answer_text)} ${plain(rationale)}`,
        ),
      ),
      question.default_strategy.action === 'use'
        ? `Without an answer: ${plain(question.default_strategy.value)}. ${plain(question.default_strategy.explanation)}`
        : `Without an answer the plan is blocked. ${plain(question.default_strategy.explanation)}`,
      `Evidence: ${question.evidence_refs.map(plain).join(', ')}`,
    ]),
    '## Settled by default',
    bullets(resolved_by_default.map(({ key, value, reason }) => `${plain(key)} = ${plain(value)}: ${plain(reason)}`)),
  )
}

export function failureMarkdown(pack: FailurePack): string {
  return page(
    `# ${pack.outcome}: ${plain(pack.message)}`,
    `${pack.failure_type} (${plain(pack.cause)}) in ${plain(pack.failed_at_state)}.${pack.needs_person ? ' A person has to look.' : ''}`,
    '## What is wrong',
    bullets(pack.problems.map(({ path, message }) => `${path === undefined ? '' : `\`${path}\`: `}${plain(message)}`)),
    '## What to do',
    bullets(pack.recovery_suggestions.map(plain)),
  )
}
