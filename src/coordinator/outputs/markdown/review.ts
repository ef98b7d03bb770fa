import { measures, type ReviewPack } from '../../schemas/review-pack.ts'
import { bullets, page, plain, table } from './text.ts'

export function reviewMarkdown(pack: ReviewPack): string {
  const { plan_summary: plan, risk, change_impact: impact } = pack
  return page(
    '# Review',
    plain(plan.goal),
    bullets(plan.success_criteria.map(plain)),
    `${plan.actions} actions in ${plan.phases} phases, ${durationOf(plan)}, complexity ${plan.complexity_score} of 100.`,
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
          m.estimated === null ? 'not estimated' : String(m.estimated),
          m.allowed === null ? 'any' : String(m.allowed),
          m.within === 'no' ? '**no**' : m.within.replace('_', ' '),
          m.not_estimated.map(plain).join(', '),
        ]),
    ),
    '## Red lines',
    bullets(
      pack.red_lines.map(
        ({ red_line, rule, verdict, reason }) =>
          `${red_line} ${verdict === 'holds' ? `holds: ${plain(rule)}` : `**${verdict.replace('_', ' ')}**: ${plain(reason)}`}`,
      ),
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

function durationOf({ estimated_duration_ms, duration_not_estimated }: ReviewPack['plan_summary']): string {
  if (estimated_duration_ms === null) return 'duration not estimated'
  const open = duration_not_estimated.length === 0 ? '' : ` without ${duration_not_estimated.map(plain).join(', ')}`
  return `about ${estimated_duration_ms} ms${open}`
}
