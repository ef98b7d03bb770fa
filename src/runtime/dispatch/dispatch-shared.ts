import { Fault } from '../../faults/fault.ts'
import { expire } from '../commands/expire.ts'
import { preserve, requeue } from '../commands/recover.ts'
import { finishClosing } from '../commands/session.ts'
import { mayBeTaken } from '../engine/take.ts'
import type { SharedStore } from '../shared-store.ts'
import { type Dispatch, type DispatchPorts, subjectsIn } from './dispatch.ts'
import { createDispatcher } from './dispatcher.ts'

/** How many runs are recovered side by side on a cold start. */
const atOnce = 32

/**
 * For a store that several processes share. Jobs are recorded together with
 * the runes they follow from, so that there is nothing to tell anyone here; the
 * store's queue brings each worker what it can take.
 */
export function dispatchShared(
  { engine: engineOf, limit, drive, settled }: DispatchPorts,
  shared: SharedStore,
): Dispatch {
  // The queue brings no more than `limit` at once; here only two holds of the same run are kept apart.
  const dispatcher = createDispatcher(Number.POSITIVE_INFINITY, drive)
  const ending = new AbortController()

  async function run(session_id: string, run_id: string) {
    try {
      await dispatcher.wake(session_id, run_id)
      return 'seen'
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'not_found') throw error
      engineOf().warn('a run is left to other workers', { session_id, run_id, error: error.message })
      return 'elsewhere'
    }
  }

  /** The queue goes by the clock of the database. If ours is behind, the deadline is not yet over here. */
  async function deadline(session_id: string, interaction_id: string) {
    const engine = engineOf()
    for (;;) {
      const left = await expire(engine, session_id, interaction_id)
      if (left === 0) return
      await new Promise<void>((resolve, reject) => {
        const cancel = engine.timers.after(left, resolve)
        const leave = () => {
          cancel()
          reject(new Error('This worker leaves before the deadline.'))
        }
        if (ending.signal.aborted) leave()
        else ending.signal.addEventListener('abort', leave, { once: true })
      })
    }
  }

  async function session(session_id: string) {
    const engine = engineOf()
    const state = await engine.sessions.load(session_id)
    if (state.subjects.get(session_id)?.state === 'closing')
      await finishClosing(engine, session_id, 'closing was interrupted', settled)
    return [...state.runs.values()].filter((run) => mayBeTaken(state, run)).map((run) => run.run_id)
  }

  return {
    wake() {},
    deadline() {},
    lend: dispatcher.lend,
    async idle() {
      await shared.quiet()
      await dispatcher.idle()
      // What was under way here may have given others something to do.
      await shared.quiet()
    },

    /** What runs is someone's, unless its lease is over. Only the first process looks after what waits for people. */
    async start() {
      const recovered = { requeued: 0, waiting: 0, queued: 0 }
      if (limit === 0) return recovered
      const engine = engineOf()
      const { isFirst } = await shared.join(engine.settings.worker)
      if (isFirst) {
        const waiting = await subjectsIn(engine.runelog, 'run:waiting_user')
        for (let i = 0; i < waiting.length; i += atOnce)
          await Promise.all(waiting.slice(i, i + atOnce).map((run) => preserve(engine, run.session_id, run.id)))
        recovered.waiting = waiting.length
      }
      await shared.begin(
        {
          run,
          deadline,
          session,
          async abandoned({ session_id, run_id }) {
            await requeue(engine, session_id, run_id)
            recovered.requeued++
          },
        },
        limit,
      )
      return recovered
    },

    async stop() {
      ending.abort()
      const ended = shared.end()
      await dispatcher.stop()
      await ended
      for (const { session_id, run_id } of await shared.leave()) await requeue(engineOf(), session_id, run_id)
    },
  }
}
