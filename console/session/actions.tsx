import { useState } from 'react'
import { runMachine } from '../../src/machines/run.ts'
import { sessionMachine } from '../../src/machines/session.ts'
import { runEndpoints } from '../../src/wire/run.ts'
import { type SessionCard, sessionEndpoints } from '../../src/wire/session.ts'
import { type Answer, ask } from '../api/request.ts'
import { type Verdict, verdictOn } from '../machines/legal.ts'
import { useAct } from '../parts/act.tsx'
import { Trouble } from '../parts/states.tsx'
import { spoken } from '../words.ts'
import type { SessionLog } from './log.ts'

type Budget = NonNullable<SessionCard['budget']>

interface Action {
  readonly label: string
  readonly verdict: Verdict
  readonly act: (limits: Budget) => Promise<Answer<unknown>>
  /** An act that cannot be taken back asks for confirmation. */
  readonly warning?: string
  /** Limits that a person raises before the act. */
  readonly limits?: Budget
}

/** The acts that a session and its run accept now, by their declarations, and why they refuse the others. */
export function Actions({ log, session }: { log: SessionLog; session: SessionCard }) {
  const { isBusy, problem, run } = useAct()
  const [asked, setAsked] = useState<Action>()
  const [limits, setLimits] = useState<Budget>({})
  const done = () => {
    setAsked(undefined)
    void log.refresh()
  }
  const act = (action: Action) => void run(() => action.act(limits), done)
  const begin = (action: Action) => {
    setLimits(action.limits ?? {})
    if (action.warning === undefined) act(action)
    else setAsked(action)
  }
  const actions = [...sessionActions(session), ...runActions(log)]
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
          {Object.entries(limits).map(([name, limit]) => (
            <label key={name}>
              {spoken(name)}
              <input
                type="number"
                min={0}
                step="any"
                value={limit}
                onChange={({ target }) => setLimits({ ...limits, [name]: Number(target.value) })}
              />
            </label>
          ))}
          <button
            type="button"
            className={asked.limits === undefined ? 'danger' : 'primary'}
            disabled={isBusy}
            onClick={() => act(asked)}
          >
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

function sessionActions(session: SessionCard): readonly Action[] {
  const { session_id, state } = session
  const on = (trigger: string) => verdictOn(sessionMachine, state, trigger)
  const params = { session_id }
  return [
    { label: 'Pause', verdict: on('pause_requested'), act: () => ask(sessionEndpoints.pauseSession, { params }) },
    wayBack(session),
    {
      label: 'Close',
      verdict: on('close_requested'),
      act: () => ask(sessionEndpoints.closeSession, { params }),
      warning: 'Closing cancels its runs and seals its log.',
    },
    { label: 'Archive', verdict: on('archive_requested'), act: () => ask(sessionEndpoints.archiveSession, { params }) },
  ]
}

/** The act that resumes the session: resume after a pause, a larger budget, or a reset after errors. */
function wayBack({ session_id, state, suspension, budget }: SessionCard): Action {
  const params = { session_id }
  const on = (trigger: string) => verdictOn(sessionMachine, state, trigger)
  const resume = (body: { budget?: Budget; reset?: boolean }) => ask(sessionEndpoints.resumeSession, { params, body })
  if (suspension === null) return { label: 'Resume', verdict: on('resume_requested'), act: () => resume({}) }
  if (suspension.by === 'errors') return { label: 'Reset', verdict: on('reset'), act: () => resume({ reset: true }) }
  return {
    label: 'Raise the budget',
    verdict: on('budget_replenished'),
    act: (limits) => resume({ budget: limits }),
    warning: `${suspension.reason} Limits count from the beginning of the session.`,
    limits: budget ?? {},
  }
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
  const params = { run_id: subject_id }
  return [
    {
      label: 'Interrupt run',
      verdict: verdictOn(runMachine, state, 'request'),
      act: () => ask(runEndpoints.interruptRun, { params }),
      warning: 'The run stops at the next safe boundary; effects under way finish first.',
    },
    {
      label: 'Cancel run',
      verdict: verdictOn(runMachine, state, 'run.canceled'),
      act: () => ask(runEndpoints.cancelRun, { params }),
      warning: 'The run is stopped now, and effects under way are aborted.',
    },
  ]
}
