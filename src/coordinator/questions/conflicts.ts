import type { Given } from '../given.ts'
import type { AnswerConflict, Ports } from '../progress.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import { bearsOn, type Settled } from '../rules/answers-in-force.ts'
import type { RuleDecision } from '../schemas/rule-decision.ts'

/**
 * Answers that the rules do not let stand: with them, a step is denied or can
 * no longer be decided that was not so before. Each answer is tried by itself
 * to find the one at fault; if only several together are, all of them are.
 */
export function conflictsOf(
  fresh: readonly Settled[],
  standing: readonly Settled[],
  before: readonly RuleDecision[],
  after: readonly RuleDecision[],
  given: Given,
  round: number,
  ports: Ports,
): readonly AnswerConflict[] {
  const accepted = new Set(before.filter(passes).map(({ step_id }) => step_id))
  return after
    .filter((decision) => accepted.has(decision.step_id) && !passes(decision))
    .flatMap((decision) => {
      const step = given.steps.find(({ step_id }) => step_id === decision.step_id)
      if (step === undefined) return []
      const touching = fresh.filter(({ question }) => bearsOn(question, step.step_id))
      const alone = touching.filter((answer) => {
        const { decisions } = adjudicate([step], given, [...standing, answer], round, ports)
        return decisions.some((alone) => !passes(alone))
      })
      return (alone.length > 0 ? alone : touching).map(({ question, value }) => ({
        round,
        question_id: question.question_id,
        key: question.key,
        value,
        step_id: step.step_id,
        reason: decision.reason,
      }))
    })
}

function passes({ decision }: RuleDecision): boolean {
  return decision !== 'deny' && decision !== null
}
