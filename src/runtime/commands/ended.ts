import type { RunView } from '../../observation/session-state.ts'
import type { Engine } from '../engine/engine.ts'
import { isOver } from './stop.ts'

/** Waits until a run is over, whatever becomes of it, or until the signal fires. */
export function ended(engine: Engine, session_id: string, run_id: string, signal?: AbortSignal): Promise<RunView> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      deaf()
      reject(signal?.reason)
    }
    const look = () =>
      engine.sessions.load(session_id).then((state) => {
        const run = state.runs.get(run_id)
        if (run === undefined || !isOver(run)) return
        deaf()
        signal?.removeEventListener('abort', leave)
        resolve(run)
      }, reject)
    const deaf = engine.sessions.listen(session_id, () => void look())
    if (signal?.aborted) return leave()
    signal?.addEventListener('abort', leave, { once: true })
    void look()
  })
}
