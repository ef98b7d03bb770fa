import { useEffect, useRef, useState } from 'react'
import type { InteractionCard } from '../../src/wire/interaction.ts'
import { interactionEndpoints } from '../../src/wire/interaction.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { type Answering, Digest, Refused } from './answering.tsx'

type Step = 'look' | 'confirm' | 'deny'

/** Approves or denies one action, with exactly the arguments that will be used. */
export function Approval({ asked, isInert, isOpen, isSelected, done }: Answering) {
  const [step, setStep] = useState<Step>('look')
  const [reason, setReason] = useState('')
  const { isBusy, problem, run } = useAct()
  const confirm = useRef<HTMLButtonElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const why = useRef<HTMLInputElement>(null)
  const irreversible = asked.irreversible === true
  const isDisabled = isInert || isBusy

  useEffect(() => {
    if (step === 'confirm') confirm.current?.focus()
    if (step === 'deny') why.current?.focus()
  }, [step])

  const params = { interaction_id: asked.interaction_id }
  const proof = asked.digest === null ? {} : { digest: asked.digest }
  const sayYes = () => run(() => ask(interactionEndpoints.approve, { params, body: proof }), done)
  const yes = () => {
    if (isDisabled) return
    if (irreversible) setStep('confirm')
    else void sayYes()
  }
  /** The key first scrolls to the button, so that the person sees everything that it approves. */
  const yesByKey = () => {
    const at = button.current?.getBoundingClientRect()
    if (at !== undefined && (at.top < 0 || at.bottom > window.innerHeight))
      // Not at the edge: the end would be hidden by a fraction of a pixel, and the key would never approve.
      button.current?.scrollIntoView({ block: 'center' })
    else yes()
  }
  const because = reason.trim() === '' ? {} : { reason: reason.trim() }
  const no = () => void run(() => ask(interactionEndpoints.deny, { params, body: because }), done)
  useKeys(
    isOpen && isSelected
      ? {
          a: { says: 'approve what is asked (an irreversible action asks once more)', does: yesByKey },
          x: { says: 'deny, with a reason', does: () => setStep('deny') },
        }
      : {},
  )

  return (
    <div className="approval">
      {asked.tool === null ? (
        <JsonBlock value={asked.request} name="what is to be approved" />
      ) : (
        <Arguments asked={asked} />
      )}
      <p className="faint">
        {asked.digest !== null && <Digest name="digest" value={asked.digest} />}{' '}
        {asked.definition_sha256 !== null && <Digest name="definition" value={asked.definition_sha256} />}
      </p>
      <Refused problem={problem} done={done} />
      {isOpen && step === 'look' && (
        <div className="row">
          <button
            ref={button}
            type="button"
            className="primary"
            disabled={isDisabled}
            onClick={yes}
            title="Approve (a)"
          >
            Approve once
          </button>
          <button type="button" disabled={isDisabled} onClick={() => setStep('deny')} title="Deny (x)">
            Deny …
          </button>
        </div>
      )}
      {isOpen && step === 'confirm' && (
        <div className="row confirm">
          <span>This cannot be undone. Approve it?</span>
          <button ref={confirm} type="button" className="danger" disabled={isBusy} onClick={() => void sayYes()}>
            Yes, approve once
          </button>
          <button type="button" onClick={() => setStep('look')}>
            Back
          </button>
        </div>
      )}
      {isOpen && step === 'deny' && (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault()
            no()
          }}
        >
          <label className="grow">
            Reason. The agent receives it.
            <input ref={why} value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
          <button type="submit" className="danger" disabled={isBusy}>
            Deny
          </button>
          <button type="button" onClick={() => setStep('look')}>
            Back
          </button>
        </form>
      )}
    </div>
  )
}

/** The tool and its complete arguments, as the digest has them. */
function Arguments({ asked }: { asked: InteractionCard }) {
  return (
    <>
      <p>Asked because: {asked.prompt}</p>
      <p>
        <strong>{asked.tool}</strong> with exactly these arguments:{' '}
        {asked.irreversible && <span className="chip is-bad">irreversible</span>}
      </p>
      <Scroll name="Arguments">
        <pre className="arguments">{asked.canonical_arguments ?? 'null'}</pre>
      </Scroll>
      <details>
        <summary>The same, spread out</summary>
        <pre className="arguments">{JSON.stringify(asked.arguments, null, 2)}</pre>
      </details>
    </>
  )
}
