import { useState } from 'react'
import { type Machine, triggerNames } from '../../src/kernel/machine.ts'
import { suppose } from '../../src/kernel/transition.ts'
import { verdictOn } from './legal.ts'

/** A subject that exists only on this page: fire triggers and see which are refused. Nothing reaches the server. */
export function TryIt({ machine, at, move }: { machine: Machine; at: string; move: (state: string) => void }) {
  const [said, setSaid] = useState('')
  const fire = (trigger: string) => {
    const decision = suppose(machine, at, trigger, () => true)
    if (decision.allowed) {
      setSaid(`${decision.from} → ${decision.to}`)
      move(decision.to)
    } else {
      const verdict = verdictOn(machine, at, trigger)
      setSaid(verdict.isLegal ? '' : verdict.reason)
    }
  }
  return (
    <section aria-labelledby="try-it">
      <h2 id="try-it">Try it</h2>
      <p>
        Now in <strong>{at}</strong>. <span role="status">{said}</span>
      </p>
      <div className="row">
        {triggerNames(machine).map((trigger) => (
          <button key={trigger} type="button" className="quiet" onClick={() => fire(trigger)}>
            {trigger}
          </button>
        ))}
        <button type="button" onClick={() => move(machine.initial)}>
          Start again
        </button>
      </div>
    </section>
  )
}
