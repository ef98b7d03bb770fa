import { useState } from 'react'
import { runMachine } from '../../src/machines/run.ts'
import { sessionMachine } from '../../src/machines/session.ts'
import type { SessionCard } from '../../src/wire/session.ts'
import type { Answer } from '../api/request.ts'
import { stopRun } from '../api/runs.ts'
import { actOnSession } from '../api/sessions.ts'
import { type Verdict, verdictOn } from '../machines/legal.ts'
import { useAct } from '../parts/act.tsx'
import { Trouble } from '../parts/states.tsx'
import type { SessionLog } from './log.ts'

interface Action {
  readonly label: string
  readonly verdict: Verdict
  readonly act: () => Promise<Answer<unknown>>
  /** What cannot be taken back is asked for twice. */
  readonly warning?: string
}

/** What can be done to a session and its run now, by their declarations; and why the rest cannot. */
export function Actions({ log, session }: { log: SessionLog; session: SessionCard }) {
  const { isBusy, problem, run } = useAct()
  const [asked, setAsked] = useState<Action>()
  const done = () => {
    setAsked(undefined)
    void log.refresh()
  }
  const begin = (action: Action) => (action.warning === undefined ? void run(action.act, done) : setAsked(action))
  const actions = [...sessionActions(log, session), ...runActions(log)]
  const refused = actions.filter(({ verdict }) => !verdict.isLegal)
  return (
    <div className="actions">
      {asked === undefined ? (
        actions.map((action) => (
          <button
            key={action.label}
            type="button"
            disabled={isBusy || !action.verdict.isLegal}
            title={action.verdict.isLegal ? '' : action.verdict.reason}
            onClick={() => begin(action)}
          >
            {action.label}
          </button>
        ))
      ) : (
        <span className="row confirm">
          {asked.warning}
          <button type="button" className="danger" disabled={isBusy} onClick={() => void run(asked.act, done)}>
            {asked.label}
          </button>
          <button type="button" onClick={() => setAsked(undefined)}>
            Back
          </button>
        </span>
      )}
      {refused.length > 0 && (
        <details className="why-not">
          <summary>Why not?</summary>
          <ul>
            {refused.map(({ label, verdict }) => (
              <li key={label}>
                <strong>{label}:</strong> {verdict.isLegal ? '' : verdict.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
      {problem !== undefined && <Trouble problem={problem} />}
    </div>
  )
}

function sessionActions(log: SessionLog, { session_id, state: said }: SessionCard): readonly Action[] {
  const state = log.spine().stateOf(session_id) ?? said
  const on = (trigger: string) => verdictOn(sessionMachine, state, trigger)
  const resume = state === 'suspended' ? 'reset' : 'resume_requested'
  return [
    { label: 'Pause', verdict: on('pause_requested'), act: () => actOnSession(session_id, 'pause') },
    { label: 'Resume', verdict: on(resume), act: () => actOnSession(session_id, 'resume') },
    {
      label: 'Close',
      verdict: on('close_requested'),
      act: () => actOnSession(session_id, 'close'),
      warning: 'Closing cancels its runs and seals its log.',
    },
    { label: 'Archive', verdict: on('archive_requested'), act: () => actOnSession(session_id, 'archive') },
  ]
}

function runActions(log: SessionLog): readonly Action[] {
  const run = log
    .spine()
    .entries()
    .findLast(({ machine }) => machine === 'run')
  if (run === undefined) {
    const verdict: Verdict = { isLegal: false, reason: 'No run is open.' }
    const nothing = async () => ({ ok: true, value: undefined, server_at: null }) as const
    return ['Interrupt run', 'Cancel run'].map((label) => ({ label, verdict, act: nothing }))
  }
  const { subject_id, state } = run
  return [
    {
      label: 'Interrupt run',
      verdict: verdictOn(runMachine, state, 'request'),
      act: () => stopRun(subject_id, 'interrupt'),
      warning: 'The run stops at the next safe boundary; effects under way finish first.',
    },
    {
      label: 'Cancel run',
      verdict: verdictOn(runMachine, state, 'run.canceled'),
      act: () => stopRun(subject_id, 'cancel'),
      warning: 'The run is stopped now, and effects under way are aborted.',
    },
  ]
}
