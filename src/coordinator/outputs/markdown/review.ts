import type { ReviewPack } from '../../schemas/review-pack.ts'
import { bullets, page, plain, table } from './text.ts'

/** In this order, whatever the order of the members. */
const measures = ['files', 'commits', 'tokens', 'cost_usd'] as const

export function reviewMarkdown(pack: ReviewPack): string {
  const { plan_summary: plan, risk, change_impact: impact } = pack
  return page(
    '# Review',
    plain(plan.goal),
    bullets(plan.success_criteria.map(plain)),
    `${plan.actions} actions in ${plan.phases} phases, about ${plan.estimated_duration_ms} ms, complexity ${plan.complexity_score} of 100.`,
    `## Risk: ${risk.overall}`,
    bullets(
      risk.justification.map(
        ({ level, reason, evidence_refs }) => `${level}: ${plain(reason)} (${evidence_refs.map(plain).join(', ')})`,
      ),
    ),
    '## Impact',
    table(
      ['What', 'Estimated', 'Allowed', 'Within', 'Not estimated'],
      measures
        .map((what) => [what, impact[what]] as const)
        .map(([what, m]) => [
          plain(what),
          String(m.estimated),
          String(m.allowed),
          m.is_within ? 'yes' : '**no**',
          m.not_estimated.map(plain).join(', '),
        ]),
    ),
    '## Who has to look',
    bullets(
      pack.review_gates.map(
        ({ node_id, category, step_id, criteria }) =>
          `${node_id} (${category ?? plain(step_id ?? 'plan')}): ${criteria.map(plain).join(' ')}`,
      ),
    ),
    '## How to undo it',
    table(
      ['Order', 'Step', 'Irreversible', 'Instruction'],
      pack.rollback_guide.map((r) => [
        String(r.order),
        plain(r.step_id),
        r.is_irreversible ? '**yes**' : 'no',
        plain(r.instruction),
      ]),
    ),
    '## Warnings',
    bullets(
      pack.warnings.map(({ step_id, rule_id, reason }) => `${plain(step_id)}: ${plain(reason)} (${plain(rule_id)})`),
    ),
    '## Left out',
    bullets(plan.dropped_steps.map(({ step_id, reason }) => `${plain(step_id)}: ${plain(reason)}`)),
  )
}
