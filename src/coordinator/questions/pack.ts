import { idOf } from '../checksum.ts'
import type { Given } from '../given.ts'
import type { Ports, Progress } from '../progress.ts'
import type { Question, QuestionPack } from '../schemas/questions.ts'
import type { Governed } from './standing.ts'

/** The questions of one round, within the budget. */
export function questionPackOf(
  { run_id, ledger }: Progress,
  given: Given,
  governed: Governed,
  { sha256 }: Ports,
): QuestionPack {
  const questions = governed.ask.map((question) => withConflicts(question, ledger))
  const consumed = new Set([...ledger.asked, ...questions.map(({ question_id }) => question_id)]).size
  const { mode, question_budget } = given.context.effective
  const round = ledger.returns + 1
  return {
    pack_id: idOf('qpack', [run_id, round, questions], sha256),
    schema_version: '1.0.0',
    coordinator_run_id: run_id,
    intent_id: given.intent.id,
    round,
    questions,
    policy_constraints: {
      execution_mode: mode,
      question_budget,
      budget_consumed: consumed,
      budget_remaining: question_budget - consumed,
    },
    resolved_by_default: governed.settled
      .filter(({ provided_by }) => provided_by === 'policy_default')
      .map(({ question, value }) => ({
        question_id: question.question_id,
        key: question.key,
        value,
        reason: question.default_strategy.explanation,
      })),
  }
}

/** A question that is asked again says why the rules refused the earlier answers. */
function withConflicts(question: Question, { conflicts }: Progress['ledger']): Question {
  const earlier = conflicts.filter(({ question_id }) => question_id === question.question_id)
  if (earlier.length === 0) return question
  const told = earlier.map(({ value, step_id, reason }) => `"${value}" cannot stand: ${step_id}: ${reason}`)
  return { ...question, context: [question.context, ...new Set(told)].join(' ').slice(0, 8000).toWellFormed() }
}
