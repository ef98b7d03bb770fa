import type { RunView } from '../../observation/session-state.ts'
import type { Engine } from '../engine/engine.ts'
import { isOver } from './stop.ts'

/** Waits until a run is over, whatever becomes of it. */
export function ended(engine: Engine, session_id: string, run_id: string): Promise<RunView> {
  return new Promise((resolve, reject) => {
    const look = () =>
      engine.sessions.load(session_id).then((state) => {
        const run = state.runs.get(run_id)
        if (run === undefined || !isOver(run)) return
        deaf()
        resolve(run)
      }, reject)
    const deaf = engine.sessions.listen(session_id, () => void look())
    void look()
  })
}
