import { faults } from '../faults/catalogue.ts'
import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Engine } from './engine.ts'
import { once } from './once.ts'

/** Waits until a run is over, whatever becomes of it, or until the signal fires. */
export function ended(engine: Engine, session_id: string, run_id: string, signal?: AbortSignal): Promise<RunView> {
  const look = (run: RunView | undefined) => (run !== undefined && isTerminal(runMachine, run.status) ? run : undefined)
  return once(engine.sessions, session_id, ({ runs }) => look(runs.get(run_id)), signal)
}

/** The same; refused while the run cannot go on because its session is suspended. */
export function endedOrStuck(
  engine: Engine,
  session_id: string,
  run_id: string,
  signal: AbortSignal,
): Promise<RunView> {
  const look = ({ runs, suspension }: SessionState) => {
    const run = runs.get(run_id)
    if (run?.status === 'queued' && suspension !== null)
      throw faults.session_suspended({ session_id, run_id, ...suspension })
    return run !== undefined && isTerminal(runMachine, run.status) ? run : undefined
  }
  return once(engine.sessions, session_id, look, signal)
}
