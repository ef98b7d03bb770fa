import { isFault } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { finishClosing } from '../commands/session.ts'
import { definitionOf } from '../engine.ts'
import { wait } from '../ports.ts'
import {
  expire,
  handBack,
  lookAfterAll,
  lookAfterOrphans,
  nothingRecovered,
  obeyCancel,
  recoverAll,
  requeue,
} from '../recovery/recover.ts'
import { mayBeTaken } from '../run/drive.ts'
import type { AbandonedRun, Member } from '../store.ts'
import { readThrown } from '../thrown.ts'
import {
  type Asked,
  type Assignment,
  createDeadlines,
  createDispatcher,
  type Dispatch,
  type DispatchPorts,
} from './dispatcher.ts'

/** For a store that one process owns: runs and deadlines wait in memory. The next process finds them in the log. */
export function dispatchHere({ engine: engineOf, limit, drive, clock, timers }: DispatchPorts): Dispatch {
  const dispatcher = createDispatcher(limit, work)
  const applying = createApplying()
  const deadlines = createDeadlines(clock, timers, (interaction_id, session_id) => {
    const { warn } = engineOf()
    applying.add(expire(engineOf(), session_id, interaction_id)).catch((error) => {
      warn('a deadline could not be applied', { interaction_id, error: readThrown(error).message })
    })
  })
  const wake = (session_id: string, run_id: string) =>
    // A wake during shutdown is dropped: the next process finds the run in the log.
    void dispatcher.wake(session_id, run_id).catch(() => {})

  async function work(session_id: string, run_id: string) {
    try {
      const wasHeld = await drive(session_id, run_id)
      await follow(session_id, run_id, wasHeld)
    } catch (error) {
      engineOf().warn('a worker stopped', { session_id, run_id, error: String((error as Error)?.stack ?? error) })
    }
  }

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
    start: async () => (limit === 0 ? nothingRecovered : recoverAll(engineOf())),
    idle: () => applying.idle(dispatcher.idle),
    async stop() {
      deadlines.stop()
      const stopped = dispatcher.stop()
      await applying.over()
      await stopped
    },
  }
}

/** For a store that processes share: its queue brings jobs, recorded together with the runes they follow from. */
export function dispatchShared(ports: Omit<DispatchPorts, 'clock' | 'timers'>, member: Member): Dispatch {
  const { engine: engineOf, limit, drive } = ports
  // The queue brings at most `limit` runs at once. This dispatcher only keeps one run from being held twice.
  const dispatcher = createDispatcher(Number.POSITIVE_INFINITY, async (session_id, run_id) => {
    await drive(session_id, run_id)
    await obeyCancel(engineOf(), session_id, run_id)
  })
  const applying = createApplying()
  const ending = new AbortController()

  /** A poisoned store ends this worker: it renews nothing, so that other workers take over soon. */
  const whole =
    <A extends unknown[], R>(task: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      task(...args).catch((error) => {
        if (isFault(error, 'store_poisoned')) member.abandon()
        throw error
      })

  async function run(session_id: string, run_id: string): Promise<'seen' | 'elsewhere'> {
    // The queue may deliver one more run while it is being stopped.
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

  /** The queue uses the clock of the database. If the local one is behind, the rest of the time is waited for here. */
  async function deadline(session_id: string, interaction_id: string): Promise<'applied' | 'later'> {
    for (;;) {
      const left = await applying.add(expire(engineOf(), session_id, interaction_id))
      if (left === 0) return 'applied'
      if (ending.signal.aborted) return 'later'
      await wait(engineOf().timers, left, ending.signal)
    }
  }

  async function session(session_id: string) {
    const engine = engineOf()
    const state = await engine.sessions.load(session_id)
    if (state.subjects.get(session_id)?.state === 'closing') await finishClosing(engine, session_id)
    if (!(await engine.autonomy.takeUp(session_id))) return 'elsewhere'
    const open = [...state.openRuns.values()]
    for (const { run_id } of open) await obeyCancel(engine, session_id, run_id)
    await lookAfterAll(engine, state)
    return open.filter((run) => mayBeTaken(state, run)).map((run) => run.run_id)
  }

  return {
    wake() {},
    deadline() {},
    lend: dispatcher.lend,
    idle: () =>
      applying.idle(async () => {
        await member.quiet()
        await dispatcher.idle()
        // The last runs here may have queued work for other processes.
        await member.quiet()
      }),

    /** The first process recovers everything. For any other, a running run is held until its lease has ended. */
    async start() {
      const engine = engineOf()
      if (limit === 0) return nothingRecovered
      const { isFirst } = await member.join(engine.settings.worker)
      // Other processes may start at the same time and take the requeued runs.
      const recovered = isFirst ? await recoverAll(engine, await member.abandoned()) : nothingRecovered
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

function createApplying() {
  const applying = new Set<Promise<unknown>>()
  const over = () => Promise.allSettled(applying)
  return {
    over,
    add<T>(applied: Promise<T>): Promise<T> {
      const leaving = applied.finally(() => applying.delete(leaving))
      applying.add(leaving)
      return leaving
    },
    async idle(rest: () => Promise<void>) {
      do {
        await over()
        await rest()
      } while (applying.size > 0)
    },
  }
}

interface DispatchAsked extends Dispatch {
  /** Recovers what is asked for, and works on it from now on. Refused if this process lacks its agent. */
  workOn(asked: Asked): Promise<void>
}

/**
 * For a process that works for one command. A start recovers and begins nothing: a command that is refused must leave
 * the store as it is. What the command asks for is recovered and carried out; every other run is left to the next worker.
 * Where several processes share the store, leases are kept there, and its queue brings nothing here.
 */
export function dispatchAsked(ports: DispatchPorts, assignment: Assignment, member?: Member): DispatchAsked {
  const { engine: engineOf, drive, timers } = ports
  const here = dispatchHere({ ...ports, drive: driveNeeded })
  let stopLooking = () => {}

  /** The session, recovered before this process runs anything in it: a running run was left by another process. */
  async function recovered(session_id: string) {
    const { sessions, preserving } = engineOf()
    const state = await sessions.load(session_id)
    await preserving.touch(state)
    return state
  }

  async function driveNeeded(session_id: string, run_id: string): Promise<boolean> {
    return assignment.neededIn(await recovered(session_id)).has(run_id) && drive(session_id, run_id)
  }

  async function look(session_id: string) {
    const state = await recovered(session_id)
    for (const run of (await member?.abandoned()) ?? [])
      if (run.session_id === session_id && assignment.neededIn(state).has(run.run_id)) await requeue(engineOf(), run)
    const needed = assignment.neededIn(state)
    for (const { run_id, status } of state.openRuns.values())
      if (status === 'queued' && needed.has(run_id)) here.wake(session_id, run_id)
  }

  function lookAtAll() {
    const { warn } = engineOf()
    for (const session_id of assignment.sessions())
      look(session_id).catch((error) =>
        warn('a session could not be checked for work', { session_id, error: readThrown(error).message }),
      )
  }

  /** Looks after each commit of another process, and regularly: a worker that dies sends no notice. */
  function lookOut(): () => void {
    const { runelog, settings } = engineOf()
    const unsubscribe = runelog.watch((_, source) => {
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
      unsubscribe()
    }
  }

  return {
    ...here,

    async start() {
      if (member !== undefined) {
        await member.join(engineOf().settings.worker)
        stopLooking = lookOut()
      }
      return nothingRecovered
    },

    async workOn(asked) {
      const engine = engineOf()
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
      await handBack(engineOf(), member)
    },
  }
}
