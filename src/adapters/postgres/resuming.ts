import type { Rune } from '../../runes/rune.ts'

/** A run that waits for a person, and its session. */
interface ParkedRun {
  readonly session_id: string
  readonly run_id: string
}

/** How many sessions are remembered. Runs of any other are taken from the queue. */
const parkedLimit = 4_096

/** The runs that this process let go last: when they are queued again, it takes them without a look into the queue. */
export type Resuming = ReturnType<typeof createResuming>

/** Remembers which runs this process parked, and which of them it takes now. The log decides who gets a run. */
export function createResuming() {
  const parked = new Map<string, Set<string>>()
  const taking = new Set<string>()

  return {
    /** Notes what a commit of this process did to a run. */
    note({ kind, subject_id = '', session_id, to }: Rune) {
      if (kind !== 'run.moved') return
      const runs = parked.get(session_id) ?? new Set()
      if (to === 'waiting_user') parked.set(session_id, runs.add(subject_id))
      else if (to !== 'queued') runs.delete(subject_id)
      if (runs.size === 0) parked.delete(session_id)
      for (const id of parked.keys()) {
        if (parked.size <= parkedLimit) break
        parked.delete(id)
      }
    },
    /** Runs of these sessions that were parked here. Each is returned once. */
    of(session_ids: readonly string[]): readonly ParkedRun[] {
      const found = session_ids.flatMap((session_id) =>
        [...(parked.get(session_id) ?? [])].map((run_id) => ({ session_id, run_id })),
      )
      for (const id of session_ids) parked.delete(id)
      return found
    },
    /** Whether the run is taken without its job, which is not needed once it is taken. */
    isTaking: (run_id: string) => taking.has(run_id),
    /** Takes a run without its job. */
    async take(run_id: string, work: () => Promise<unknown>) {
      taking.add(run_id)
      try {
        await work()
      } finally {
        taking.delete(run_id)
      }
    },
  }
}
