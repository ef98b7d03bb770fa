import type { Measure } from '../../src/coordinator/schemas/plan.ts'
import { exactSpan } from '../../src/observation/durations.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { Empty } from '../parts/states.tsx'
import { useAsked } from '../use-asked.ts'

const within = { yes: '✓ within', no: '✕ over', not_evaluated: '? not every step has an estimate' } as const

/** The review pack, for a reviewer before anything runs. */
export function ReviewTab({ coordination_id, version }: { coordination_id: string; version: string }) {
  const { value: pack } = useAsked(`review ${coordination_id} ${version}`, (signal) =>
    ask(planEndpoints.getPlanReviewPack, { params: { coordination_id } }, signal),
  )
  if (pack === undefined)
    return (
      <Empty title="There is no review pack.">
        <p>It is written when the graph is complete.</p>
      </Empty>
    )
  const { plan_summary, risk, change_impact, rollback_guide, review_gates, warnings, red_lines } = pack
  return (
    <div className="prose">
      <h3>{plan_summary.goal}</h3>
      <p>
        {plan_summary.actions} actions in {plan_summary.phases} phases,{' '}
        {plan_summary.estimated_duration_ms === null
          ? 'duration not estimated'
          : `about ${exactSpan(plan_summary.estimated_duration_ms)}`}
        , complexity {plan_summary.complexity_score} of 100.
      </p>
      <h3>Risk: {risk.overall}</h3>
      <ul>
        {risk.justification.map(({ reason, level }) => (
          <li key={reason}>
            {level}: {reason}
          </li>
        ))}
      </ul>
      <h3>Impact against the budgets</h3>
      <table className="plain">
        <tbody>
          {Object.entries(change_impact).map(([name, measure]: [string, Measure]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="number">
                {measure.estimated ?? 'not estimated'} of {measure.allowed ?? 'any'} {within[measure.within]}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Red lines</h3>
      <ul>
        {red_lines.map(({ red_line, rule, verdict, reason }) => (
          <li key={red_line}>
            {red_line}: {verdict === 'holds' ? `✓ ${rule}` : `✕ ${verdict.replace('_', ' ')}: ${reason}`}
          </li>
        ))}
      </ul>
      <h3>Gates still open</h3>
      {review_gates.length === 0 ? <p>None.</p> : null}
      <ul>
        {review_gates.map(({ node_id, category, criteria }) => (
          <li key={node_id}>
            {category ?? 'review'}: {criteria.join(' ')}
          </li>
        ))}
      </ul>
      <h3>How to go back</h3>
      <ol>
        {rollback_guide.map(({ order, step_id, instruction, is_irreversible }) => (
          <li key={order}>
            {step_id}: {instruction} {is_irreversible && <span className="chip is-bad">irreversible</span>}
          </li>
        ))}
      </ol>
      {warnings.length > 0 && (
        <>
          <h3>Warnings</h3>
          <ul>
            {warnings.map(({ step_id, rule_id, reason }) => (
              <li key={`${step_id} ${rule_id}`}>
                {step_id}: {reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
