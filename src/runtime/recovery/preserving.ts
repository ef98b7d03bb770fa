import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import type { AbandonedRun } from '../store.ts'

/**
 * A start does not touch the runs that wait: there may be thousands. That a waiting run outlived the restart is
 * recorded when a command first touches its session, before anything else, or the run fails there if it cannot go on. A
 * process that only gives commands recovers nothing at its start. Where it has the store to itself, the session that a
 * command touches is recovered first: otherwise a cancel or a close would wait for a worker that does not exist, and an
 * answer would be accepted for a tool that is gone.
 */
export interface Preserving {
  /** This process has recovered the store. What has waited since before is due. */
  begin(now: number): void
  /** A run of this process begins to wait. */
  parked(run_id: string): void
  /** A run was taken: it does not wait any more. */
  taken(run_id: string): void
  /**
   * A command is about to touch a session: what is due in it is recorded first. Commands that come at once wait for the
   * same recovery. If it fails, each of them is refused, and the next one tries again.
   */
  touch(state: SessionState): Promise<void>
}

interface PreservingPorts {
  readonly isWorking: boolean
  /** Only this process parks runs. Otherwise the time decides which ones were there before. */
  readonly isAlone: boolean
  readonly preserve: (session_id: string, run_id: string) => Promise<void>
  readonly requeue: (lost: AbandonedRun) => Promise<void>
  /** Stops tasks and runs that no worker takes any more: what asked for them is over. */
  readonly lookAfterOrphans: (state: SessionState) => Promise<void>
}

/** The recovery of one session, while it is under way. */
interface Recovery {
  done: Promise<void>
}

/** Records lazily which waiting runs outlived a restart. */
export function createPreserving(ports: PreservingPorts): Preserving {
  const { isWorking, isAlone, preserve, requeue, lookAfterOrphans } = ports
  const known = new Set<string>()
  const recovered = new Set<string>()
  const underWay = new Map<string, Recovery>()
  /** The recovery that the running code belongs to. It touches its session itself, and must not wait for itself. */
  const within = new AsyncLocalStorage<Recovery>()
  let begun: number | undefined

  const isLost = ({ session_id }: SessionState) => isAlone && !isWorking && !recovered.has(session_id)
  const isDue = ({ run_id, status, since }: RunView) =>
    begun !== undefined && status === 'waiting_user' && !known.has(run_id) && (isAlone || since <= begun)
  const dueIn = ({ openRuns }: SessionState) => [...openRuns.values()].filter(isDue)

  async function recover(state: SessionState) {
    const { session_id, openRuns } = state
    if (isLost(state)) {
      for (const { run_id, status, epoch } of [...openRuns.values()])
        if (status === 'running') await requeue({ session_id, run_id, epoch })
      await lookAfterOrphans(state)
      // No run of it begins while this process has the store.
      recovered.add(session_id)
    }
    for (const { run_id } of dueIn(state)) {
      await preserve(session_id, run_id)
      known.add(run_id)
    }
  }

  function begin(state: SessionState): Promise<void> {
    const recovery: Recovery = { done: Promise.resolve() }
    underWay.set(state.session_id, recovery)
    recovery.done = within.run(recovery, () => recover(state)).finally(() => underWay.delete(state.session_id))
    return recovery.done
  }

  return {
    begin(now) {
      begun = now
    },
    parked: (run_id) => void known.add(run_id),
    taken: (run_id) => void known.delete(run_id),
    async touch(state) {
      for (;;) {
        const recovery = underWay.get(state.session_id)
        if (recovery !== undefined && recovery === within.getStore()) return
        if (recovery !== undefined) await recovery.done
        else if (isLost(state) || dueIn(state).length > 0) await begin(state)
        else return
      }
    },
  }
}
