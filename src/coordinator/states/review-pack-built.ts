import type { Failure, FailureCause } from '../failures.ts'
import { reviewGuards } from '../guards/review-pack-built.ts'
import type { Handler } from '../handler.ts'
import { readGuards } from '../reading.ts'
import { reviewPackOf } from '../review/pack.ts'
import type { GuardReading } from '../schemas/run-tape.ts'

export const reviewPackBuilt: Handler = (progress, ports) => {
  const graph = progress.artifacts.execution_graph
  if (graph === undefined) throw new Error('There is no review before the graph is final.')
  const pack = reviewPackOf(progress, graph, ports)
  const guards = readGuards(reviewGuards, pack)
  const failure = failureOf(guards)
  return {
    trigger: failure === null ? 'review_pack_ready' : 'budget_violated',
    guards,
    produced: [{ type: 'review_pack', artifact: pack }],
    ...(failure === null ? {} : { failure }),
  }
}

const causes: readonly [GuardReading['guard_name'], FailureCause, string][] = [
  ['impact_within_budgets', 'budget_exceeded', 'The plan takes more than it is allowed.'],
  ['review_categories_satisfied', 'review_unsatisfied', 'A required review has no gate in the plan.'],
  ['risk_is_justified', 'risk_unjustified', 'The risk of the plan does not rest on evidence.'],
]

function failureOf(guards: readonly GuardReading[]): Failure | null {
  const broken = guards.filter(({ passed }) => !passed)
  const first = causes.find(([name]) => broken.some(({ guard_name }) => guard_name === name))
  if (first === undefined) return null
  return {
    cause: first[1],
    message: first[2],
    problems: broken.map(({ guard_name, reason }) => ({ code: guard_name, message: reason })),
  }
}
