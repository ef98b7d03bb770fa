import { useAct } from '../parts/act.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { type Answering, answer, Refused } from './answering.tsx'

/** A notice: a person acknowledges that they have seen it. */
export function Notice({ asked, isOpen, isInert, done }: Answering) {
  const { isBusy, problem, run } = useAct()
  return (
    <>
      <JsonBlock value={asked.request} name="what it is about" />
      <Refused problem={problem} done={done} />
      {isOpen && (
        <button
          type="button"
          className="primary"
          disabled={isInert || isBusy}
          onClick={() => void run(() => answer(asked.interaction_id, { acknowledged: true }), done)}
        >
          I have seen it
        </button>
      )}
    </>
  )
}
