import type { SessionState } from '../observation/session-state.ts'
import type { AbandonedRun } from './shared-store.ts'

/**
 * A start does not touch the runs that wait: there may be thousands. That a
 * waiting run outlived the restart is recorded when a command first touches
 * its session, before anything else, or the run fails there if it cannot go on.
 * A process that only gives commands recovers nothing at its start. Where it has
 * the store to itself, the runs that a lost process held are put back in the
 * session that a command touches: otherwise a cancel or a close would wait for
 * a worker that does not exist.
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
}

export function createPreserving({ isWorking, isAlone, preserve, requeue }: PreservingPorts): Preserving {
  const known = new Set<string>()
  let begun: number | undefined

  return {
    begin(now) {
      begun = now
    },
    parked: (run_id) => void known.add(run_id),
    taken: (run_id) => void known.delete(run_id),
    async touch({ session_id, openRuns }) {
      if (isAlone && !isWorking)
        for (const { run_id, status, epoch } of [...openRuns.values()]) {
          if (status !== 'running' || known.has(run_id)) continue
          known.add(run_id)
          await requeue({ session_id, run_id, epoch })
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
