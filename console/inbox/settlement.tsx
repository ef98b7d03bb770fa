import { useState } from 'react'
import { interactionEndpoints, type SettlementOutcome } from '../../src/wire/interaction.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { type Answering, Refused } from './answering.tsx'

/** The outcome of an action is unknown; a person who looked outside settles it. */
export function Settlement({ asked, isInert, isOpen, done }: Answering) {
  const [reason, setReason] = useState('')
  const { isBusy, problem, run } = useAct()
  const params = { interaction_id: asked.interaction_id }
  const body = reason.trim() === '' ? {} : { reason: reason.trim() }
  const say = (outcome: SettlementOutcome) => () =>
    void run(() => ask(interactionEndpoints.settle, { params, body: { outcome, ...body } }), done)
  return (
    <div className="settlement">
      <p>
        <span className="chip is-unknown">± has changed the world: unknown</span> Look outside before you answer: what
        you say becomes the record, and decides whether it is tried again.
      </p>
      <JsonBlock value={asked.arguments} name="arguments" />
      <JsonBlock value={[...asked.evidence]} name="evidence: what is known about it" />
      <Refused problem={problem} done={done} />
      {isOpen && (
        <>
          <label>
            How do you know?
            <input value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
          <div className="row">
            <button type="button" className="primary" disabled={isInert || isBusy} onClick={say('happened')}>
              It happened
            </button>
            <button type="button" disabled={isInert || isBusy} onClick={say('did_not')}>
              It did not happen
            </button>
            <span className="faint">To leave it open, do nothing: it waits.</span>
          </div>
        </>
      )}
    </div>
  )
}
