import { type Finding, unless } from '../reading.ts'
import type { ReviewPack } from '../schemas/review-pack.ts'
import { highestRisk } from '../schemas/scalars.ts'

export const reviewGuards = {
  review_categories_satisfied: ({ requires_review, review_gates }: ReviewPack): Finding =>
    unless(
      requires_review.filter(
        (category) => !review_gates.some((gate) => gate.category === category && gate.criteria.length > 0),
      ),
      'Every required review has its gate.',
      'Required and without a gate',
    ),
  impact_within_budgets: ({ change_impact }: ReviewPack): Finding =>
    unless(
      (['files', 'commits', 'tokens', 'cost_usd'] as const)
        .filter((what) => !change_impact[what].is_within)
        .map((what) => `${what} ${change_impact[what].estimated} of ${change_impact[what].allowed}`),
      'The estimates keep every budget.',
      'Over budget',
    ),
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
