import type { SessionState } from '../observation/session-state.ts'
import type { AbandonedRun } from './shared-store.ts'

/**
 * A start does not touch the runs that wait: there may be thousands. That a
 * waiting run outlived the restart is recorded when a command first touches
 * its session, before anything else, or the run fails there if it cannot go on.
 * A process that only gives commands recovers nothing at its start. Where it has
 * the store to itself, the session that a command touches is recovered first:
 * otherwise a cancel or a close would wait for a worker that does not exist, and
 * an answer would be accepted for a tool that is gone.
 */
export interface Preserving {
  /** This process has recovered the store. What has waited since before is due. */
  begin(now: number): void
  /** A run of this process begins to wait. */
  parked(run_id: string): void
  /** A run was taken: it does not wait any more. */
  taken(run_id: string): void
  /** A command is about to touch a session: what is due in it is recorded first. */
  touch(state: SessionState): Promise<void>
}

export interface PreservingPorts {
  readonly isWorking: boolean
  /** Only this process parks runs. Otherwise the time decides which ones were there before. */
  readonly isAlone: boolean
  readonly preserve: (session_id: string, run_id: string) => Promise<void>
  readonly requeue: (lost: AbandonedRun) => Promise<void>
  /** Stops tasks and runs that no worker takes any more: what asked for them is over. */
  readonly lookAfterOrphans: (state: SessionState) => Promise<void>
}

export function createPreserving(ports: PreservingPorts): Preserving {
  const { isWorking, isAlone, preserve, requeue, lookAfterOrphans } = ports
  const known = new Set<string>()
  const recovered = new Set<string>()
  let begun: number | undefined

  return {
    begin(now) {
      begun = now
    },
    parked: (run_id) => void known.add(run_id),
    taken: (run_id) => void known.delete(run_id),
    async touch(state) {
      const { session_id, openRuns } = state
      if (isAlone && !isWorking && !recovered.has(session_id)) {
        // Before it is: recovering a session touches it. No run of it begins while this process has the store.
        recovered.add(session_id)
        try {
          for (const { run_id, status, epoch } of [...openRuns.values()])
            if (status === 'running') await requeue({ session_id, run_id, epoch })
          await lookAfterOrphans(state)
        } catch (error) {
          recovered.delete(session_id)
          throw error
        }
      }
      if (begun === undefined) return
      for (const { run_id, status, since } of [...openRuns.values()]) {
        if (status !== 'waiting_user' || known.has(run_id) || (!isAlone && since > begun)) continue
        known.add(run_id)
        await preserve(session_id, run_id)
      }
    },
  }
}
