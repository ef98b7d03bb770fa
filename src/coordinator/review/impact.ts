import type { ExecutionIntent } from '../schemas/intent.ts'
import type { Command } from '../schemas/registry.ts'
import type { Measure, ReviewPack } from '../schemas/review-pack.ts'
import type { PlannedStep } from '../steps.ts'

type Amount = 'files' | 'commits' | 'tokens' | 'cost_usd'

/** What the plan is expected to take, against what the intent allows. Each figure says where it comes from. */
export function changeImpact(
  steps: readonly PlannedStep[],
  { budgets, scope }: ExecutionIntent,
): ReviewPack['change_impact'] {
  const targets = scope.targets.files.length
  const measure = (amount: Amount, allowed: number, guess?: (step: PlannedStep) => Basis | null): Measure => {
    const known = steps.flatMap((step) => basisOf(step, amount) ?? guess?.(step) ?? [])
    const sum = exact(known.reduce((total, one) => total + one.amount, 0))
    const not_estimated = steps.map(({ step_id }) => step_id).filter((id) => !known.some((one) => one.step_id === id))
    return {
      estimated: known.length === 0 && steps.length > 0 ? null : sum,
      allowed,
      within: sum > allowed ? 'no' : not_estimated.length > 0 ? 'not_evaluated' : 'yes',
      basis: known,
      not_estimated,
    }
  }
  const scopeFiles = ({ step_id, effects }: PlannedStep) =>
    effects.includes('write')
      ? { step_id, amount: targets, source: 'the files that the intent targets' }
      : { step_id, amount: 0, source: 'it writes nothing' }
  return {
    files: measure('files', budgets.max_files, scopeFiles),
    commits: measure('commits', budgets.max_commits),
    tokens: measure('tokens', budgets.max_tokens),
    cost_usd: measure('cost_usd', budgets.max_cost_usd),
  }
}

type Basis = Measure['basis'][number]

function basisOf({ step_id, command }: PlannedStep, amount: Amount): Basis | null {
  const known = command.estimate[amount]
  return known === undefined ? null : { step_id, amount: known, source: sourceOf(command) }
}

function sourceOf({ id, version }: Command): string {
  return `registry:command/${id}@${version}`
}

/** Sums of decimal fractions drift in the last digits; a millionth of a dollar is exact enough. */
function exact(sum: number): number {
  return Number(sum.toFixed(6))
}
