import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Clock, Timers } from '../ports.ts'
import { expire } from '../recovery/expire.ts'
import { lookAfterOrphans, obeyCancel } from '../recovery/look-after.ts'
import { recoverAll } from '../recovery/recover-all.ts'
import { readThrown } from '../thrown.ts'
import { createDeadlines } from './deadlines.ts'
import type { Dispatch, DispatchPorts } from './dispatcher.ts'
import { createDispatcher } from './dispatcher.ts'

/**
 * For a store that one process owns: runs wait in memory, deadlines in one heap.
 * Both follow from the log, so that the next process finds them there.
 */
export function dispatchHere(
  { engine: engineOf, limit, drive, settled }: DispatchPorts,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
): Dispatch {
  const dispatcher = createDispatcher(limit, work)
  const applying = new Set<Promise<unknown>>()
  const deadlines = createDeadlines(clock, timers, (interaction_id, session_id) => {
    const engine = engineOf()
    const applied = expire(engine, session_id, interaction_id)
      .catch((error) =>
        engine.warn('a deadline could not be applied', { interaction_id, error: readThrown(error).message }),
      )
      .finally(() => applying.delete(applied))
    applying.add(applied)
  })
  const wake = (session_id: string, run_id: string) =>
    // What comes while the process goes down is found in the log by the next one.
    void dispatcher.wake(session_id, run_id).catch(() => {})

  async function work(session_id: string, run_id: string) {
    try {
      const wasHeld = await drive(session_id, run_id)
      await follow(session_id, run_id, wasHeld)
    } catch (error) {
      engineOf().warn('a worker stopped', { session_id, run_id, error: String((error as Error)?.stack ?? error) })
    }
  }

  /** What the end of a hold leaves to do, and then the next run of the agent. */
  async function follow(session_id: string, run_id: string, wasHeld: boolean) {
    const engine = engineOf()
    await obeyCancel(engine, session_id, run_id)
    const state = await engine.sessions.load(session_id)
    const run = state.runs.get(run_id)
    if (run === undefined) return
    if (wasHeld && run.status === 'queued') wake(session_id, run_id)
    if (!isTerminal(runMachine, run.status)) return
    await lookAfterOrphans(engine, session_id, [run.agent_id])
    for (const other of state.openRuns.values())
      if (other.status === 'queued' && other.agent_id === run.agent_id) wake(session_id, other.run_id)
  }

  return {
    wake,
    deadline: deadlines.add,
    lend: dispatcher.lend,
    // A process that only gives commands recovers nothing: the next worker does.
    start: async () => (limit === 0 ? { requeued: 0, queued: 0, closing: 0 } : recoverAll(engineOf(), settled)),

    async idle() {
      do {
        await Promise.all(applying)
        await dispatcher.idle()
      } while (applying.size > 0)
    },

    async stop() {
      deadlines.stop()
      const stopped = dispatcher.stop()
      await Promise.all(applying)
      await stopped
    },
  }
}
