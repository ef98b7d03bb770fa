import { isFault } from '../../faults/catalogue.ts'
import { worksFor } from '../../observation/goal-state.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { expire } from '../commands/reply.ts'
import { finishClosing } from '../commands/session.ts'
import { definitionOf } from '../engine.ts'
import { wait } from '../ports.ts'
import { handBack, lookAfterAll, nothingRecovered, obeyCancel, recoverAll, requeue } from '../recovery/recover.ts'
import { mayBeTaken } from '../run/drive.ts'
import type { AbandonedRun, Member, Tasks } from '../store.ts'
import { readThrown } from '../thrown.ts'
import {
  type Asked,
  createApplying,
  createDispatcher,
  type Dispatch,
  type DispatchPorts,
  dispatchHere,
} from './dispatcher.ts'

/** For a store that processes share: its queue brings jobs, recorded together with the runes they follow from. */
export function dispatchShared(ports: Omit<DispatchPorts, 'clock' | 'timers'>, member: Member): Dispatch {
  const { engine: engineOf, limit, drive } = ports
  // The queue brings at most `limit` runs at once. This dispatcher only keeps one run from being held twice.
  const dispatcher = createDispatcher(Number.POSITIVE_INFINITY, async (session_id, run_id) => {
    await drive(session_id, run_id)
    const engine = engineOf()
    await obeyCancel(engine, session_id, run_id, engine.sessions.known(session_id))
  })
  const applying = createApplying()
  const ending = new AbortController()

  /** A poisoned store ends this worker: it renews no lease, so that other workers take over soon. */
  const whole =
    <A extends unknown[], R>(task: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      task(...args).catch((error) => {
        if (isFault(error, 'store_poisoned')) member.abandon()
        throw error
      })

  const run: Tasks['run'] = async (session_id, run_id) => {
    // The queue may deliver one more run while it stops.
    if (ending.signal.aborted) return 'elsewhere'
    try {
      await dispatcher.wake(session_id, run_id)
      if (dispatcher.has(run_id)) return 'kept'
      const state = engineOf().sessions.known(session_id)
      return state?.runs.get(run_id)?.status === 'waiting_user' ? 'kept' : 'seen'
    } catch (error) {
      if (!isFault(error, 'not_found')) throw error
      engineOf().warn('this process cannot run the agent; other workers may', {
        session_id,
        run_id,
        error: error.message,
      })
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

interface DispatchAsked extends Dispatch {
  /** Recovers the runs that the command asks for, and works on them. Refused if this process lacks their agent. */
  workOn(asked: Asked): Promise<void>
}

/**
 * For a process that works for one command. A start recovers and begins nothing: a refused command must not change the
 * store. Only the runs of the command are recovered and executed. The next worker takes all others. On a shared store,
 * leases are kept there, and its queue brings nothing here.
 */
export function dispatchAsked(ports: DispatchPorts, assignment: Assignment, member?: Member): DispatchAsked {
  const { engine: engineOf, drive, timers } = ports
  const here = dispatchHere({ ...ports, drive: driveNeeded })
  let stopLooking = () => {}

  /** The session, recovered before this process executes anything in it: another process left its running runs. */
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

  /** Checks after each commit of another process, and regularly: a dead worker sends no notification. */
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

/** The work of a process that runs for one command. It takes no other run of the store. */
export interface Assignment {
  add(asked: Asked): void
  isAsked(asked: Asked): boolean
  sessions(): readonly string[]
  /** The open runs of a session that may be taken: the requested ones, and all runs that they need. */
  neededIn(state: SessionState): ReadonlySet<string>
}

/** An empty assignment. */
export function createAssignment(): Assignment {
  const all: Asked[] = []
  const isAsked = (asked: Asked) =>
    all.some(
      ({ session_id, run_id, goal_id }) =>
        session_id === asked.session_id && run_id === asked.run_id && goal_id === asked.goal_id,
    )

  function isNamed(state: SessionState, { run_id, agent_id }: { run_id: string; agent_id: string }): boolean {
    const { session_id } = state
    const isOfGoal = () =>
      [...state.goals.values()].some(
        (goal) => isAsked({ session_id, goal_id: goal.goal_id }) && worksFor(state, goal, agent_id),
      )
    return isAsked({ session_id, run_id }) || isAsked({ session_id }) || isOfGoal()
  }

  return {
    isAsked,
    add(asked) {
      if (!isAsked(asked)) all.push(asked)
    },
    sessions: () => [...new Set(all.map(({ session_id }) => session_id))],
    neededIn(state) {
      const open = [...state.openRuns.values()]
      const needed = new Set(open.filter((run) => isNamed(state, run)).map(({ run_id }) => run_id))
      for (let before = -1; before !== needed.size; ) {
        before = needed.size
        for (const run of open) {
          if (needed.has(run.parent_run_id ?? '')) needed.add(run.run_id)
          // Its agent has to end another run first.
          const obstacle = run.status === 'queued' && needed.has(run.run_id) ? obstacleTo(state, run) : null
          if (obstacle?.what === 'run') needed.add(obstacle.id)
        }
      }
      return needed
    },
  }
}
