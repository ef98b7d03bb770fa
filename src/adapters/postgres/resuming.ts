import type { Rune } from '../../runes/rune.ts'

/** A run that waits for a person, and its session. */
interface ParkedRun {
  readonly session_id: string
  readonly run_id: string
}

/** How many sessions are remembered. Runs of any other are taken from the queue. */
const parkedLimit = 4_096

/** The runs that this process parked last: when they are queued again, it takes them without a look into the queue. */
export type Resuming = ReturnType<typeof createResuming>

/** Remembers which runs this process parked, and which of them it takes now. The log decides who gets a run. */
export function createResuming() {
  const parked = new Map<string, Set<string>>()
  const taking = new Set<string>()

  function forget(session_id: string, run_id: string) {
    const runs = parked.get(session_id)
    runs?.delete(run_id)
    if (runs?.size === 0) parked.delete(session_id)
  }

  return {
    /** Notes what a commit of this process did to a run. */
    note({ kind, subject_id = '', session_id, to }: Rune) {
      if (kind !== 'run.moved') return
      if (to === 'waiting_user') parked.set(session_id, (parked.get(session_id) ?? new Set()).add(subject_id))
      else if (to !== 'queued') forget(session_id, subject_id)
      for (const id of parked.keys()) {
        if (parked.size <= parkedLimit) break
        parked.delete(id)
      }
    },
    /** Runs of these sessions that were parked here, as far as is known, and that this process does not take already. */
    of(session_ids: readonly string[]): readonly ParkedRun[] {
      return session_ids.flatMap((session_id) =>
        [...(parked.get(session_id) ?? [])].flatMap((run_id) => (taking.has(run_id) ? [] : [{ session_id, run_id }])),
      )
    },
    /** Whether the run is taken without its job, which is not needed once it is taken. */
    isTaking: (run_id: string) => taking.has(run_id),
    /**
     * Takes a run without its job. A notice names no run, so this one may still wait: then it stays noted. Any other
     * may be with another worker by now, and is forgotten.
     */
    async take<T>({ session_id, run_id }: ParkedRun, work: () => Promise<T | 'kept'>): Promise<T | 'kept'> {
      taking.add(run_id)
      let went: T | 'kept' | undefined
      try {
        went = await work()
        return went
      } finally {
        taking.delete(run_id)
        if (went !== 'kept') forget(session_id, run_id)
      }
    },
  }
}
