import { faults } from '../faults/catalogue.ts'
import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Engine } from './engine.ts'
import type { Sessions } from './session-cache.ts'

/** The first answer that `look` has about a session: at once, or when something new was folded into it. */
export async function once<T>(
  sessions: Pick<Sessions, 'load' | 'listen'>,
  session_id: string,
  look: (state: SessionState) => T | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const lookNow = async () => {
    try {
      const seen = look(await sessions.load(session_id))
      if (seen !== undefined) resolve(seen)
    } catch (error) {
      reject(error)
    }
  }
  const leave = () => reject(signal?.reason)
  const unsubscribe = sessions.listen(session_id, () => void lookNow())
  signal?.addEventListener('abort', leave, { once: true })
  // What is there already is seen also by someone who may not wait.
  void lookNow().then(() => signal?.aborted && leave())
  try {
    return await promise
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', leave)
  }
}

/** Waits until a run is over, whatever becomes of it, or until the signal fires. */
export function ended(engine: Engine, session_id: string, run_id: string, signal?: AbortSignal): Promise<RunView> {
  return once(engine.sessions, session_id, ({ runs }) => ifOver(runs.get(run_id)), signal)
}

const ifOver = (run: RunView | undefined) => (run !== undefined && isTerminal(runMachine, run.status) ? run : undefined)

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
    return ifOver(run)
  }
  return once(engine.sessions, session_id, look, signal)
}
