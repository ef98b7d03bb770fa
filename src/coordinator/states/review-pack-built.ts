import { failureOf, type GuardCause } from '../guards/failure-of.ts'
import { reviewGuards } from '../guards/review-pack-built.ts'
import type { Handler } from '../handler.ts'
import { readGuards } from '../reading.ts'
import { reviewPackOf } from '../review/pack.ts'

export const reviewPackBuilt: Handler = (progress, ports) => {
  const graph = progress.artifacts.execution_graph
  if (graph === undefined) throw new Error('There is no review before the graph is final.')
  const pack = reviewPackOf(progress, graph, ports)
  const guards = readGuards(reviewGuards, pack)
  const failure = failureOf(guards, causes)
  return {
    trigger: failure === null ? 'review_pack_ready' : 'budget_violated',
    guards,
    produced: [{ type: 'review_pack', artifact: pack }],
    ...(failure === null ? {} : { failure }),
  }
}

const causes: readonly GuardCause[] = [
  ['impact_within_budgets', 'budget_exceeded', 'The plan takes more than it is allowed.'],
  ['review_categories_satisfied', 'review_unsatisfied', 'A required review has no gate in the plan.'],
  ['risk_is_justified', 'risk_unjustified', 'The risk of the plan does not rest on evidence.'],
]
