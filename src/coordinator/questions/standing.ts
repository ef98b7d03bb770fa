import { type Given, givenOf } from '../given.ts'
import type { AcceptedAnswer, AnswerLedger, Ports, Progress } from '../progress.ts'
import type { Settled } from '../rules/request.ts'
import type { RuleDecision } from '../schemas/judgement.ts'
import type { Question } from '../schemas/questions.ts'
import { uncertaintiesOf } from './uncertainties.ts'

/** What becomes of the open questions under the mode, the policy and the budget. */
export interface Governed {
  /** To be put to someone, most pressing first. */
  readonly ask: readonly Question[]
  /** May not or cannot be asked; their default stands in. */
  readonly settled: readonly Settled[]
  /** May not be asked, and no default stands in. */
  readonly stuck: readonly Question[]
  /** Would be asked, but do not fit the budget and cannot do without an answer. */
  readonly overflow: readonly Question[]
}

function govern(questions: readonly Question[], given: Given, ledger: AnswerLedger): Governed {
  const answered = new Map(ledger.accepted.map((answer) => [answer.question_id, answer]))
  const open = questions.filter(({ question_id }) => !answered.has(question_id))
  const askable = open.filter((question) => mayAsk(question, given))
  const barred = open.filter((question) => !askable.includes(question))

  // A question that comes back after a conflict has been paid for already.
  const fresh = askable.filter(({ question_id }) => !ledger.asked.includes(question_id))
  const room = given.context.effective.question_budget - ledger.asked.length
  const ask = askable.filter((question) => !fresh.slice(room).includes(question))
  const unasked = askable.filter((question) => !ask.includes(question))

  const { auto_fallback } = given.policy
  const canDefault = (question: Question) => auto_fallback && question.default_strategy.action === 'use'
  const overflow = unasked.filter((question) => question.blocking_level === 'critical' || !canDefault(question))
  return {
    ask,
    settled: [
      ...questions.flatMap((question) => settledBy(question, answered.get(question.question_id))),
      ...barred.filter(canDefault).flatMap(byPolicy),
      ...unasked.filter((question) => !overflow.includes(question)).flatMap(byPolicy),
    ],
    stuck: barred.filter((question) => !canDefault(question)),
    overflow,
  }
}

/** Red line 2: in full_auto the answer is always no, whatever the budget says. */
export function mayAsk({ type }: Question, { context, policy }: Given): boolean {
  const { mode, question_budget, question_policy } = context.effective
  if (mode === 'full_auto' || question_budget === 0 || question_policy === 'never') return false
  if (!policy.question_rules.allowed_types.includes(type)) return false
  return type === 'blocker' || (mode === 'interactive' && question_policy !== 'blockers_only')
}

function settledBy(question: Question, answer: AcceptedAnswer | undefined): Settled[] {
  return answer === undefined
    ? []
    : [{ question, answer_type: answer.answer_type, value: answer.value, provided_by: answer.provided_by }]
}

function byPolicy(question: Question): Settled[] {
  const { default_strategy: fallback } = question
  if (fallback.action !== 'use') return []
  return [{ question, answer_type: 'choice', value: fallback.value, provided_by: 'policy_default' }]
}

/** The inputs, the questions, and how each question is handled. */
export interface Standing {
  readonly given: Given
  readonly governed: Governed
  readonly questions: readonly Question[]
}

/**
 * Where the questions stand now. What only concerns steps that were denied is not asked any more. A default that is in
 * force stays so: it may be why the rules deny the step, and they would allow it without.
 */
export function standingOf(progress: Progress, { sha256 }: Ports): Standing {
  const given = givenOf(progress)
  const denied = deniedSteps(progress.artifacts.rule_decisions.at(-1)?.decisions ?? [])
  const questions = uncertaintiesOf(given, progress.run_id, sha256)
  const isOpen = ({ impact: { affected_steps } }: Question) =>
    affected_steps.length === 0 || affected_steps.some((step) => !denied.has(step))
  const { ask, stuck, overflow, settled } = govern(questions, given, progress.ledger)
  const governed = {
    ask: ask.filter(isOpen),
    stuck: stuck.filter(isOpen),
    overflow: overflow.filter(isOpen),
    settled,
  }
  return { given, governed, questions }
}

function deniedSteps(decisions: readonly RuleDecision[]): ReadonlySet<string> {
  return new Set(decisions.filter(({ decision }) => decision === 'deny').map(({ step_id }) => step_id))
}
