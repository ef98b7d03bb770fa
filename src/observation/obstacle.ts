import type { State } from '../kernel/machine.ts'
import { type SessionState as StateOfSession, sessionMachine } from '../machines/session.ts'
import type { Obstacle } from '../wire/run.ts'
import type { RunView, SessionState } from './session-state.ts'

/** Why a queued run does not begin (INV-TURN-SEQUENTIAL: one turn at a time, in submit order). Null: it may begin. */
export function obstacleTo(state: SessionState, run: RunView): Obstacle | null {
  const { session_id, subjects } = state
  const session = subjects.get(session_id)?.state ?? 'unknown'
  if (session !== 'active') return bySession(state, session)
  const agent = state.agents.get(run.agent_id)
  const at = subjects.get(run.agent_id)?.state ?? 'unknown'
  if (agent === undefined) return byAgent(run, at)
  const open = [...state.openRuns.values()]
  if (agent.turn_id !== null) {
    if (agent.turn_id === run.turn_id) return null
    const holder = open.find(({ turn_id }) => turn_id === agent.turn_id)
    return holder === undefined ? byAgent(run, at) : byRun(holder)
  }
  if (at !== 'idle') return byAgent(run, at)
  const first = open.find((other) => other === run || (other.agent_id === run.agent_id && other.status === 'queued'))
  return first === undefined || first === run ? null : byRun(first)
}

/** The pause or suspension that stops all work of a session until a person resumes it. Null: there is none. */
export function obstacleInSession(state: SessionState): Obstacle | null {
  const obstacle = bySession(state, state.subjects.get(state.session_id)?.state ?? 'unknown')
  return obstacle.needs_person ? obstacle : null
}

/** The work that a session in this state prevents from beginning. */
export function bySession(
  { session_id, suspension }: Pick<SessionState, 'session_id' | 'suspension'>,
  state: string,
): Obstacle {
  const { meaning = '', resumable }: Partial<State> = sessionMachine.states[state as StateOfSession] ?? {}
  const why = state === 'suspended' && suspension !== null ? suspension.reason : meaning
  return {
    what: 'session',
    id: session_id,
    state,
    needs_person: resumable === true,
    says: `Its session ${session_id} is ${state}: ${why}`,
  }
}

function byAgent({ agent_id }: RunView, state: string): Obstacle {
  return { what: 'agent', id: agent_id, state, needs_person: false, says: `Its agent ${agent_id} is ${state}.` }
}

/** A run that its agent works on first. */
export function byRun({ run_id, status }: Pick<RunView, 'run_id' | 'status'>): Obstacle {
  const waits = status === 'waiting_user'
  const says = `Its agent works on ${run_id} first, which ${waits ? 'waits for an answer' : `is ${status}`}.`
  return { what: 'run', id: run_id, state: status, needs_person: waits, says }
}
