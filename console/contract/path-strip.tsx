import { exactSpan } from '../../src/observation/durations.ts'
import type { ExecutionSnapshot, TransitionRecord } from '../../src/wire/contract.ts'
import { Mark } from '../parts/mark.tsx'
import { At, Since } from '../parts/time.tsx'

interface Shown {
  readonly snapshot: ExecutionSnapshot
  readonly transitions: readonly TransitionRecord[]
}

/** Every state of the contract with its duration, its trigger and its actor. */
export function PathStrip({ snapshot, transitions }: Shown) {
  const times = [snapshot.created_at, ...transitions.map((move) => move.timestamp)]
  const states = ['pending', ...transitions.map((move) => move.to_status)]
  return (
    <section aria-label="Path">
      <h2>Path</h2>
      <ol className="strip-path">
        {states.map((state, i) => {
          const move = transitions[i - 1]
          const [from, to] = [times[i] as number, times[i + 1]]
          return (
            <li key={`${i} ${state}`} aria-current={i === states.length - 1 ? 'step' : undefined}>
              {move !== undefined && (
                <span className="strip-move">
                  {move.trigger}
                  <span className="faint">
                    {move.actor} ({move.actor_category})
                  </span>
                </span>
              )}
              <span className="strip-state">
                <Mark machine="contract" state={state} />
                <span className="faint">
                  <At at={from} /> · {to === undefined ? <Since at={from} /> : exactSpan(to - from)}
                </span>
              </span>
            </li>
          )
        })}
      </ol>
    </section>
  )
}
