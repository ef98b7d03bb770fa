import { type Finding, unless } from '../reading.ts'
import type { ReviewPack } from '../schemas/review-pack.ts'
import { highestRisk } from '../schemas/scalars.ts'

export const reviewGuards = {
  red_lines_satisfied: ({ red_lines }: ReviewPack): Finding =>
    unless(
      red_lines.filter(({ verdict }) => verdict !== 'holds').map(({ red_line, reason }) => `${red_line} (${reason})`),
      'All five red lines hold on the plan as it will be frozen.',
      'Crossed, or not evaluated',
    ),
  review_categories_satisfied: ({ requires_review, review_gates }: ReviewPack): Finding =>
    unless(
      requires_review.filter(
        (category) => !review_gates.some((gate) => gate.category === category && gate.criteria.length > 0),
      ),
      'Every required review has its gate.',
      'Required and without a gate',
    ),
  impact_within_budgets: ({ change_impact }: ReviewPack): Finding => {
    const amounts = ['files', 'files_per_commit', 'commits', 'tokens', 'cost_usd'] as const
    const unknown = amounts.filter((what) => change_impact[what].within === 'not_evaluated')
    const open = unknown.length === 0 ? '' : ` Not every step has an estimate of ${unknown.join(', ')}.`
    return unless(
      amounts
        .filter((what) => change_impact[what].within === 'no')
        .map((what) => `${what} ${change_impact[what].estimated} of ${change_impact[what].allowed}`),
      `The estimates keep every budget.${open}`,
      'Over budget',
    )
  },
  risk_is_justified: ({ risk }: ReviewPack): Finding => {
    const bare = risk.justification
      .filter(({ evidence_refs }) => evidence_refs.length === 0)
      .map(({ reason }) => reason)
    const highest = highestRisk(risk.justification.map(({ level }) => level))
    if (risk.justification.length === 0 || highest !== risk.overall)
      return { holds: false, reason: `The risk is said to be ${risk.overall}; its factors make it ${highest}.` }
    return unless(bare, `The risk is ${risk.overall}, and every factor rests on evidence.`, 'Without evidence')
  },
} as const
