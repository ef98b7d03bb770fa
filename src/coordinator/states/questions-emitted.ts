import type { Failure } from '../failures.ts'
import { questionGuards } from '../guards/questions-emitted.ts'
import type { Handler } from '../handler.ts'
import { questionPackOf } from '../questions/pack.ts'
import { standingOf } from '../questions/standing.ts'
import { allHold, readGuards } from '../reading.ts'
import type { GuardReading } from '../schemas/run-tape.ts'

export const questionsEmitted: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const pack = questionPackOf(progress, given, governed, ports)
  const guards = readGuards(questionGuards, { pack, governed, given })
  const ids = pack.questions.map(({ question_id }) => question_id)
  const failure = allHold(guards) ? null : failureOf(guards)
  return {
    trigger: failure === null ? 'questions_emitted' : 'budget_exceeded',
    guards,
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
    audit: pack.questions.map(({ key, question_id, question_text }) => ({
      event_type: 'question_emitted' as const,
      severity: 'info' as const,
      message: `${key}: ${question_text}`,
      refs: [question_id],
    })),
    ...(failure === null ? {} : { failure }),
  }
}

function failureOf(guards: readonly GuardReading[]): Failure {
  const broken = guards.filter(({ passed }) => !passed)
  const cause = broken[0]?.guard_name === 'question_budget_kept' ? 'question_budget_exceeded' : 'question_ungoverned'
  return {
    cause,
    message: 'The questions of the plan may not be asked as they are.',
    problems: broken.map(({ guard_name, reason }) => ({ code: guard_name, message: reason })),
  }
}
