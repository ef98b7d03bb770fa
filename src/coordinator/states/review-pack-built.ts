import type { Failure, FailureCause } from '../failures.ts'
import { failureOf, type GuardCause } from '../guards/failure-of.ts'
import { reviewGuards } from '../guards/review-pack-built.ts'
import type { Handler } from '../handler.ts'
import { readGuards } from '../reading.ts'
import { redLineChecks } from '../red-lines.ts'
import { reviewPackOf } from '../review/pack.ts'
import type { ReviewPack } from '../schemas/review-pack.ts'

export const reviewPackBuilt: Handler = (progress, ports) => {
  const graph = progress.artifacts.execution_graph
  if (graph === undefined) throw new Error('There is no review before the graph is final.')
  const pack = reviewPackOf(progress, graph, ports)
  const guards = readGuards(reviewGuards, pack)
  const failure = crossedLine(pack) ?? failureOf(guards, causes)
  return {
    trigger: failure === null ? 'review_pack_ready' : 'budget_violated',
    guards,
    produced: [{ type: 'review_pack', artifact: pack }],
    audit: redLineChecks(pack.red_lines),
    ...(failure === null ? {} : { failure }),
  }
}

const causes: readonly GuardCause[] = [
  ['impact_within_budgets', 'budget_exceeded', 'The plan takes more than it is allowed.'],
  ['review_categories_satisfied', 'review_unsatisfied', 'A required review has no gate in the plan.'],
  ['risk_is_justified', 'risk_unjustified', 'The risk of the plan does not rest on evidence.'],
]

const lineCauses: Readonly<Record<ReviewPack['red_lines'][number]['red_line'], FailureCause>> = {
  RL1: 'execution_payload',
  RL2: 'question_ungoverned',
  RL3: 'full_auto_risk',
  RL4: 'action_without_evidence',
  RL5: 'reference_missing',
}

/** The first red line that the answers have led across, with every problem of all of them. */
function crossedLine({ red_lines }: ReviewPack): Failure | null {
  const crossed = red_lines.filter(({ verdict }) => verdict === 'crossed')
  const first = crossed[0]
  if (first === undefined) return null
  const problems = crossed.flatMap((line) => line.problems)
  return { cause: lineCauses[first.red_line], message: `${first.red_line} is crossed: ${first.rule}`, problems }
}
