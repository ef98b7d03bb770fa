import { useState } from 'react'
import { isOver } from '../../src/machines/session.ts'
import { runEndpoints } from '../../src/wire/run.ts'
import { sessionEndpoints } from '../../src/wire/session.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { Trouble } from '../parts/states.tsx'
import type { SessionLog } from './log.ts'

/** A message or a steer. The text stays until the server has it. */
export function Composer({ log }: { log: SessionLog }) {
  const [text, setText] = useState('')
  const { isBusy, problem, run } = useAct()
  const entries = log.spine().entries()
  const state = log.spine().stateOf(log.session_id) ?? log.session()?.state
  const open = entries.findLast(({ machine }) => machine === 'run')
  const isStreaming = entries.some((entry) => entry.machine === 'turn' && entry.state === 'streaming')
  if (state !== undefined && isOver(state))
    return <p className="faint">The session is {state}; it takes no more messages. Start a new one.</p>
  const isGone = log.connection() !== 'live'
  const send = (act: 'message' | 'steer') =>
    void run<unknown>(
      () =>
        act === 'steer' && open !== undefined
          ? ask(runEndpoints.steerRun, { params: { run_id: open.subject_id }, body: { input: text } })
          : ask(sessionEndpoints.sendMessage, { params: { session_id: log.session_id }, body: { input: text } }),
      () => setText(''),
    )
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send('message')
      }}
    >
      <label>
        Message
        <textarea rows={2} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy || isGone || text.trim() === ''}>
          {open === undefined ? 'Send' : 'Queue as next run'}
        </button>
        {open !== undefined && (
          <button type="button" disabled={isBusy || isGone || text.trim() === ''} onClick={() => send('steer')}>
            Steer the run
          </button>
        )}
        <span className="faint">
          {isGone
            ? 'Not connected: the draft stays here and is not sent.'
            : open === undefined
              ? 'Starts a run.'
              : isStreaming
                ? 'Steering stops the answer at once and goes on with your words; queueing waits for the run to end.'
                : 'Steering waits for the tools that are running; queueing waits for the run to end.'}
        </span>
      </div>
      {problem !== undefined && <Trouble problem={problem} />}
    </form>
  )
}
