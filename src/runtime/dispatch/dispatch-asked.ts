import type { Asked, Assignment } from '../assignment.ts'
import { definitionOf } from '../engine.ts'
import type { Clock, Timers } from '../ports.ts'
import { handBack } from '../recovery/look-after.ts'
import { requeue } from '../recovery/recover.ts'
import type { Member } from '../shared-store.ts'
import { readThrown } from '../thrown.ts'
import { dispatchHere } from './dispatch-here.ts'
import type { Dispatch, DispatchPorts } from './dispatcher.ts'

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
