import type { Given } from '../given.ts'
import type { AnswerConflict, Ports } from '../progress.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import { bearsOn, type Settled } from '../rules/request.ts'
import type { RuleDecision } from '../schemas/judgement.ts'

/** Answers that arrived and the rule decisions without and with them. */
interface Compared {
  readonly fresh: readonly Settled[]
  /** Answers and defaults that were in force before. */
  readonly standing: readonly Settled[]
  readonly before: readonly RuleDecision[]
  readonly after: readonly RuleDecision[]
  readonly round: number
}

/**
 * Answers that make the rules deny a step, or leave it undecided, that they let pass before. Each answer is tried alone
 * to find the one at fault; if none is alone, all of them are.
 */
export function conflictsOf(
  { fresh, standing, before, after, round }: Compared,
  given: Given,
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
        const { decisions } = adjudicate({ steps: [step], settled: [...standing, answer], round }, given, ports)
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
