import { expire } from '../commands/expire.ts'
import { preserve, requeue } from '../commands/recover.ts'
import { finishClosing } from '../commands/session.ts'
import { isOver, stop } from '../commands/stop.ts'
import type { OpenInteraction } from '../models/interactions.ts'
import type { Clock, Timers } from '../ports.ts'
import { createDeadlines } from './deadlines.ts'
import { type Dispatch, type DispatchPorts, subjectsIn } from './dispatch.ts'
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
  const deadlines = createDeadlines(clock, timers, (interaction_id, session_id) => {
    const engine = engineOf()
    expire(engine, session_id, interaction_id).catch((error) =>
      engine.warn('a deadline could not be applied', { interaction_id, error: String(error) }),
    )
  })
  const wake = (session_id: string, run_id: string) =>
    // What comes while the process goes down is found in the log by the next one.
    void dispatcher.wake(session_id, run_id).catch(() => {})

  async function work(session_id: string, run_id: string) {
    try {
      await drive(session_id, run_id)
      await follow(session_id, run_id)
    } catch (error) {
      engineOf().warn('a worker stopped', { session_id, run_id, error: String((error as Error)?.stack ?? error) })
    }
  }

  /** What the end of a hold leaves to do: a cancel that came when the run was about to wait, and the next run of the agent. */
  async function follow(session_id: string, run_id: string) {
    const engine = engineOf()
    const state = await engine.sessions.load(session_id)
    const run = state.runs.get(run_id)
    if (run === undefined) return
    if (run.cancel !== null && !isOver(run) && run.status !== 'running')
      await stop(engine, session_id, run_id, 'cancel', run.cancel_reason)
    if (!isOver(run)) return
    for (const other of state.runs.values())
      if (other.status === 'queued' && other.agent_id === run.agent_id) wake(session_id, other.run_id)
  }

  return {
    wake,
    deadline: deadlines.add,
    lend: dispatcher.lend,
    idle: dispatcher.idle,

    /** No other process is on the store: whatever was running has lost its worker. */
    async start() {
      const engine = engineOf()
      const { runelog } = engine
      const [running, waiting, queued, closing] = [
        await subjectsIn(runelog, 'run:running'),
        await subjectsIn(runelog, 'run:waiting_user'),
        await subjectsIn(runelog, 'run:queued'),
        await subjectsIn(runelog, 'session:closing'),
      ]
      for (const { id, session_id } of waiting) await preserve(engine, session_id, id)
      for (const { id, session_id } of [...running, ...queued]) await requeue(engine, session_id, id)
      for (const { session_id } of closing) await finishClosing(engine, session_id, 'closing was interrupted', settled)
      for (const row of await runelog.rows('open_interactions')) {
        const { interaction_id, session_id, deadline } = row.value as OpenInteraction
        if (deadline !== null) deadlines.add(interaction_id, session_id, deadline)
      }
      return { requeued: running.length, waiting: waiting.length, queued: queued.length }
    },

    stop() {
      deadlines.stop()
      return dispatcher.stop()
    },
  }
}
