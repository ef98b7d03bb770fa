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

export function deniedSteps(decisions: readonly RuleDecision[]): ReadonlySet<string> {
  return new Set(decisions.filter(({ decision }) => decision === 'deny').map(({ step_id }) => step_id))
}
