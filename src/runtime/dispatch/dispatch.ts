import { isFault } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Asked, Assignment } from '../assignment.ts'
import { finishClosing } from '../commands/session.ts'
import { definitionOf } from '../engine.ts'
import type { Clock, Timers } from '../ports.ts'
import { expire, handBack, lookAfterOrphans, obeyCancel, requeue } from '../recovery/recover.ts'
import { recoverAll } from '../recovery/recover-all.ts'
import { mayBeTaken } from '../run/drive.ts'
import type { AbandonedRun, Member } from '../store.ts'
import { readThrown } from '../thrown.ts'
import { createDeadlines, createDispatcher, type Dispatch, type DispatchPorts } from './dispatcher.ts'

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

interface DispatchAsked extends Dispatch {
  /** Recovers what is asked for, and works on it from now on. Refused if this process lacks its agent. */
  workOn(asked: Asked): Promise<void>
}

interface AskedPorts {
  readonly assignment: Assignment
  readonly clock: Clock
  readonly timers: Timers
  /** Where several processes share the store: leases are kept there. Its queue brings nothing here. */
  readonly member?: Member | undefined
}

/**
 * For a process that works for one command. A start recovers and begins nothing:
 * a command that is refused must leave the store as it is. What the command asks
 * for is recovered and carried out; every other run is left to the next worker.
 */
export function dispatchAsked(
  { drive, ...ports }: DispatchPorts,
  { assignment, clock, timers, member }: AskedPorts,
): DispatchAsked {
  const here = dispatchHere({ ...ports, drive: driveNeeded }, { clock, timers })
  const nothing = { requeued: 0, queued: 0, closing: 0 }
  let stopLooking = () => {}

  async function driveNeeded(session_id: string, run_id: string): Promise<boolean> {
    const engine = ports.engine()
    const state = await engine.sessions.load(session_id)
    // Before a run of this process is running there: what runs now was left by a process that is gone.
    await engine.preserving.touch(state)
    return assignment.neededIn(state).has(run_id) && drive(session_id, run_id)
  }

  /** Other processes may have answered, or may be gone with a run that is asked for. */
  async function look(session_id: string) {
    const engine = ports.engine()
    const state = await engine.sessions.load(session_id)
    await engine.preserving.touch(state)
    const lost = member === undefined ? [] : await member.abandoned()
    for (const run of lost)
      if (run.session_id === session_id && assignment.neededIn(state).has(run.run_id)) await requeue(engine, run)
    const needed = assignment.neededIn(state)
    for (const { run_id, status } of state.openRuns.values())
      if (status === 'queued' && needed.has(run_id)) here.wake(session_id, run_id)
  }

  function lookAtAll() {
    const { warn } = ports.engine()
    for (const session_id of assignment.sessions())
      look(session_id).catch((error) =>
        warn('a session could not be looked at', { session_id, error: readThrown(error).message }),
      )
  }

  /** News of others, and, since a worker that dies says nothing, the time. */
  function lookOut(): () => void {
    const { runelog, settings } = ports.engine()
    const deaf = runelog.watch((_, source) => {
      if (source !== 'own') lookAtAll()
    })
    let cancel = () => {}
    const again = () => {
      cancel = timers.after(settings.leaseMs / 4, () => {
        lookAtAll()
        again()
      })
    }
    again()
    return () => {
      cancel()
      deaf()
    }
  }

  return {
    ...here,

    async start() {
      if (member === undefined) return nothing
      await member.join(ports.engine().settings.worker)
      stopLooking = lookOut()
      return nothing
    },

    async workOn(asked) {
      const engine = ports.engine()
      const { session_id, run_id } = asked
      const state = await engine.sessions.load(session_id)
      const run = state.openRuns.get(run_id ?? '')
      if (run !== undefined) definitionOf(engine, state, run.agent_id)
      assignment.add(asked)
      await look(session_id)
      const needed = assignment.neededIn(state)
      for (const { interaction_id, opened, state: at, run_id: asker } of state.interactions.values()) {
        const isOurs = run_id === undefined || needed.has(asker ?? '')
        if (at === 'open' && opened.deadline !== null && isOurs)
          here.deadline(interaction_id, session_id, opened.deadline)
      }
    },

    async stop() {
      stopLooking()
      await here.stop()
      if (member === undefined) return
      await member.end()
      await handBack(ports.engine(), member)
    },
  }
}
