import { useState } from 'react'
import type { Verdict } from '../../src/coordinator/schemas/scalars.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { Empty, Trouble } from '../parts/states.tsx'
import { useAsked } from '../use-asked.ts'

const signs: { readonly [V in Verdict]: string } = { deny: '⊘', require_review: '⊓', warn: '!', allow: '✓' }

/** A verdict on every planned command, with its reasons and what they rest on. */
export function RulesTab({ coordination_id, version }: { coordination_id: string; version: string }) {
  const [only, setOnly] = useState('')
  const { value, problem } = useAsked(`rules ${coordination_id} ${version}`, (signal) =>
    ask(planEndpoints.getPlanRules, { params: { coordination_id } }, signal),
  )
  if (problem !== undefined && problem.status !== 404 && problem.status !== 409) return <Trouble problem={problem} />
  const round = value?.rounds.at(-1)
  const decisions = round?.decisions ?? []
  if (decisions.length === 0) return <Empty title="No rule has been asked yet." />
  return (
    <>
      {round !== undefined && round.round > 1 && <p>Answers sent the plan back: this is round {round.round}.</p>}
      <label className="short">
        Show{' '}
        <select value={only} onChange={({ target }) => setOnly(target.value)}>
          <option value="">every verdict</option>
          {[...Object.keys(signs), 'undecidable'].map((verdict) => (
            <option key={verdict} value={verdict}>
              {verdict}
            </option>
          ))}
        </select>
      </label>
      <div className="scroll">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Verdict</th>
              <th scope="col">Step</th>
              <th scope="col">Risk</th>
              <th scope="col">Reason</th>
              <th scope="col">Rules</th>
              <th scope="col">Evidence</th>
            </tr>
          </thead>
          <tbody>
            {decisions
              .filter(({ decision }) => only === '' || (decision ?? 'undecidable') === only)
              .map((one) => (
                <tr key={one.decision_id}>
                  <th scope="row">
                    <span className={`verdict-word is-${one.decision ?? 'undecidable'}`}>
                      {one.decision === null ? '±' : signs[one.decision]} {one.decision ?? 'undecidable'}
                    </span>
                    {one.is_hard_deny && <span className="chip is-bad">ends the plan</span>}
                    {one.conflict !== null && <span className="chip is-bad">conflict</span>}
                  </th>
                  <td>
                    {one.step_id} <span className="faint">{one.command_id}</span>
                  </td>
                  <td>{one.risk_level}</td>
                  <td>{one.reason}</td>
                  <td>
                    {one.matched_rules.map((rule) => (
                      <div key={rule.rule_id} title={rule.reason}>
                        {rule.rule_id} <span className="faint">({rule.verdict})</span>
                      </div>
                    ))}
                  </td>
                  <td>{one.evidence_refs.join(', ')}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </>
  )
}
