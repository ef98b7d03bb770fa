import { isFault } from '../../faults/catalogue.ts'
import { finishClosing } from '../commands/session.ts'
import { expire } from '../recovery/expire.ts'
import { handBack, lookAfterOrphans, obeyCancel } from '../recovery/look-after.ts'
import { requeue } from '../recovery/recover.ts'
import { recoverAll } from '../recovery/recover-all.ts'
import { mayBeTaken } from '../run/acquire.ts'
import type { AbandonedRun, Member } from '../shared-store.ts'
import type { Dispatch, DispatchPorts } from './dispatcher.ts'
import { createDispatcher } from './dispatcher.ts'

/**
 * For a store that several processes share. Jobs are recorded together with the runes they follow from, so that there
 * is nothing to tell anyone here; the store's queue brings each worker what it can take.
 */
export function dispatchShared({ engine: engineOf, limit, drive, settled }: DispatchPorts, member: Member): Dispatch {
  // The queue brings no more than `limit` at once; here only two holds of the same run are kept apart.
  const dispatcher = createDispatcher(Number.POSITIVE_INFINITY, async (session_id, run_id) => {
    await drive(session_id, run_id)
    await obeyCancel(engineOf(), session_id, run_id)
  })
  const applying = new Set<Promise<unknown>>()
  const ending = new AbortController()

  /** Nothing can be done here once the store takes nothing more: others have to, and soon. */
  const whole =
    <A extends unknown[], R>(task: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      task(...args).catch((error) => {
        if (isFault(error, 'store_poisoned')) member.abandon()
        throw error
      })

  async function run(session_id: string, run_id: string): Promise<'seen' | 'elsewhere'> {
    // The queue may bring one more while it is told to bring none.
    if (ending.signal.aborted) return 'elsewhere'
    try {
      await dispatcher.wake(session_id, run_id)
      return 'seen'
    } catch (error) {
      if (!isFault(error, 'not_found')) throw error
      engineOf().warn('a run is left to other workers', { session_id, run_id, error: error.message })
      return 'elsewhere'
    }
  }

  /** The queue goes by the clock of the database. If ours is behind, the deadline is not yet over here. */
  async function deadline(session_id: string, interaction_id: string): Promise<'applied' | 'later'> {
    for (;;) {
      const applied = expire(engineOf(), session_id, interaction_id).finally(() => applying.delete(applied))
      applying.add(applied)
      const left = await applied
      if (left === 0) return 'applied'
      if (ending.signal.aborted) return 'later'
      await rest(left)
    }
  }

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = engineOf().timers.after(ms, resolve)
      const leave = () => {
        cancel()
        resolve()
      }
      ending.signal.addEventListener('abort', leave, { once: true })
    })
  }

  async function session(session_id: string) {
    const engine = engineOf()
    const state = await engine.sessions.load(session_id)
    if (state.subjects.get(session_id)?.state === 'closing')
      await finishClosing(engine, session_id, 'the session was being closed', settled)
    if (!(await engine.beside.takeUp(session_id))) return 'elsewhere'
    const open = [...state.openRuns.values()]
    for (const { run_id } of open) await obeyCancel(engine, session_id, run_id)
    await lookAfterOrphans(engine, session_id, new Set(open.map((run) => run.agent_id)))
    return open.filter((run) => mayBeTaken(state, run)).map((run) => run.run_id)
  }

  return {
    wake() {},
    deadline() {},
    lend: dispatcher.lend,

    async idle() {
      do {
        await Promise.all(applying)
        await member.quiet()
        await dispatcher.idle()
        // What was under way here may have given others something to do.
        await member.quiet()
      } while (applying.size > 0)
    },

    /** The first process takes up all that was left behind. To any other, what runs is someone's until its lease is over. */
    async start() {
      const engine = engineOf()
      const nothing = { requeued: 0, queued: 0, closing: 0 }
      if (limit === 0) return nothing
      const { isFirst } = await member.join(engine.settings.worker)
      // Others may begin beside it, and take what it puts back.
      const recovered = isFirst ? await recoverAll(engine, settled, await member.abandoned()) : nothing
      const abandoned = (lost: AbandonedRun) => requeue(engine, lost)
      const tasks = { run: whole(run), deadline: whole(deadline), session: whole(session), abandoned: whole(abandoned) }
      await member.begin(tasks, limit)
      return recovered
    },

    async stop() {
      ending.abort()
      const ended = member.end()
      await dispatcher.stop()
      await ended
      await handBack(engineOf(), member)
    },
  }
}
