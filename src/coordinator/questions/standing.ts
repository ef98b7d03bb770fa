import { type Given, givenOf } from '../given.ts'
import type { Ports, Progress } from '../progress.ts'
import type { Question } from '../schemas/question-pack.ts'
import type { RuleDecision } from '../schemas/rule-decision.ts'
import { type Governed, govern } from './govern.ts'
import { uncertaintiesOf } from './uncertainties.ts'

export interface Standing {
  readonly given: Given
  readonly governed: Governed
  readonly questions: readonly Question[]
}

/** Where the questions stand now. What only concerns steps that were denied is not asked any more. */
export function standingOf(progress: Progress, { sha256 }: Ports): Standing {
  const given = givenOf(progress)
  const denied = deniedSteps(progress.artifacts.rule_decisions.at(-1)?.decisions ?? [])
  const questions = uncertaintiesOf(given, progress.run_id, sha256).filter(
    ({ impact: { affected_steps } }) => affected_steps.length === 0 || affected_steps.some((step) => !denied.has(step)),
  )
  return { given, governed: govern(questions, given, progress.ledger), questions }
}

export function deniedSteps(decisions: readonly RuleDecision[]): ReadonlySet<string> {
  return new Set(decisions.filter(({ decision }) => decision === 'deny').map(({ step_id }) => step_id))
}
