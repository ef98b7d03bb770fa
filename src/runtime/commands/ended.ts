import type { RunView } from '../../observation/session-state.ts'
import type { Engine } from '../engine/engine.ts'
import { once } from './once.ts'
import { isOver } from './stop.ts'

/** Waits until a run is over, whatever becomes of it, or until the signal fires. */
export function ended(engine: Engine, session_id: string, run_id: string, signal?: AbortSignal): Promise<RunView> {
  const look = (run: RunView | undefined) => (run !== undefined && isOver(run) ? run : undefined)
  return once(engine.sessions, session_id, ({ runs }) => look(runs.get(run_id)), signal)
}
