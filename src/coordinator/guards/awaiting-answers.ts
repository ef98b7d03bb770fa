import type { AnswerConflict } from '../progress.ts'
import { type Finding, unless, unlessProblems } from '../reading.ts'
import type { Problem } from '../schemas/problem.ts'
import type { Question } from '../schemas/question-pack.ts'

/** How often answers may send a plan back to the rules. The next time it is blocked. */
export const conflictLimit = 3

export interface AnswerFindings {
  /** What keeps the pack from being taken. With any of it the coordination does not move. */
  readonly problems: readonly Problem[]
  /** Questions of the pack that nothing settles: time ran out and their default is to block. */
  readonly unsettled: readonly Question[]
  readonly conflicts: readonly AnswerConflict[]
  readonly returns: number
}

export const answerGuards = {
  answers_fit_schema: ({ problems }: AnswerFindings): Finding =>
    unlessProblems(
      problems.filter((problem) => !isMissing(problem)),
      'The answers have their shape and fit the questions.',
    ),
  critical_questions_answered: ({ problems, unsettled }: AnswerFindings): Finding =>
    unless(
      [...problems.filter(isMissing).map(({ message }) => message), ...unsettled.map(({ key }) => key)],
      'Every question is settled.',
      'Not answered, and no default stands in',
    ),
  no_answer_conflicts: ({ conflicts }: AnswerFindings): Finding =>
    unless(
      conflicts.map(({ key, value, step_id, reason }) => `${key}=${value} over ${step_id} (${reason})`),
      'The rules let every answer stand.',
      'The rules do not let stand',
    ),
  conflict_rounds_left: ({ returns }: AnswerFindings): Finding =>
    returns < conflictLimit
      ? { holds: true, reason: `Sent back ${returns} of ${conflictLimit} times so far.` }
      : { holds: false, reason: `Sent back ${returns} times already; ${conflictLimit} are allowed.` },
} as const

function isMissing({ code }: Problem): boolean {
  return code === 'critical_question_unanswered' || code === 'question_without_fallback'
}
