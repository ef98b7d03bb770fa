import { useState } from 'react'
import { useAct } from '../parts/act.tsx'
import { type Answering, answer, Refused } from './answering.tsx'

/** A question with a free text as its answer. */
export function Question({ asked, isOpen, isInert, done }: Answering) {
  const [text, setText] = useState('')
  const { isBusy, problem, run } = useAct()
  if (!isOpen) return null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(() => answer(asked.interaction_id, { answer: text }), done)
      }}
    >
      <label>
        Your answer
        <textarea rows={3} required value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <Refused problem={problem} done={done} />
      <button type="submit" className="primary" disabled={isInert || isBusy || text.trim() === ''}>
        Answer
      </button>
    </form>
  )
}
