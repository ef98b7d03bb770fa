import { useState } from 'react'
import { exactSpan } from '../../src/observation/durations.ts'
import type { PlanCard } from '../../src/wire/plan.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { Trouble } from '../parts/states.tsx'

/** Every move with its guards, outputs and duration, and whether the outputs are unchanged. */
export function TapeTab({ coordination_id, plan }: { coordination_id: string; version: string; plan: PlanCard }) {
  const { isBusy, problem, run } = useAct()
  const [found, setFound] = useState<readonly object[]>()
  return (
    <>
      <div className="row">
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            void run(
              () => ask(planEndpoints.verifyPlan, { params: { coordination_id } }),
              (value) => setFound(value.problems),
            )
          }
        >
          Verify
        </button>
        {found !== undefined && found.length === 0 && (
          <span className="verdict is-good" role="status">
            ✓ Every output is what was frozen.
          </span>
        )}
      </div>
      {problem !== undefined && <Trouble problem={problem} />}
      {found !== undefined && found.length > 0 && (
        <div className="verdict is-bad" role="alert">
          <p>✕ The files differ from the frozen ones.</p>
          <JsonBlock value={found} name="problems" />
        </div>
      )}
      <ol className="tape">
        {plan.moves.map((move, i) => (
          <li key={`${i} ${move.to}`}>
            <p>
              <strong>
                {move.from} → {move.to}
              </strong>{' '}
              on {move.trigger} <span className="faint number">{exactSpan(move.duration_ms)}</span>
            </p>
            <ul className="plain-list">
              {move.guards.map(({ guard_name, passed, reason }) => (
                <li key={guard_name}>
                  {passed ? '✓' : '✕'} {guard_name}: <span className="faint">{reason}</span>
                </li>
              ))}
              {move.outputs.map(({ artifact_type, artifact_id, checksum }) => (
                <li key={artifact_id}>
                  ▤ {artifact_type} {artifact_id} <code title={checksum}>{checksum.slice(0, 12)}</code>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </>
  )
}
