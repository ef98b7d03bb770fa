import { faults } from '../faults/catalogue.ts'

/**
 * Keeps the work on a session and the erasing of something in it apart: a worker has the session before its eyes as it
 * was when it took its run, and would show a model what was erased since. This is for the workers of one process; a
 * store that several share refuses by itself while others work.
 */
export function createErasing() {
  const atWork = new Map<string, Set<string>>()
  const underWay = new Map<string, Promise<void>>()

  return {
    /** Begins when nothing is being erased in the session. */
    async work<T>(session_id: string, run_id: string, work: () => Promise<T>): Promise<T> {
      for (let erased = underWay.get(session_id); erased !== undefined; erased = underWay.get(session_id)) await erased
      const runs = atWork.get(session_id) ?? new Set()
      atWork.set(session_id, runs.add(run_id))
      try {
        return await work()
      } finally {
        runs.delete(run_id)
        if (runs.size === 0 && atWork.get(session_id) === runs) atWork.delete(session_id)
      }
    },

    /** Refused while someone works on the session. */
    async erase(session_id: string, work: () => Promise<void>): Promise<void> {
      const [run_id] = atWork.get(session_id) ?? []
      if (run_id !== undefined) throw faults.session_busy({ session_id, run_id, asked: 'redact something in it' })
      const { promise: over, resolve } = Promise.withResolvers<void>()
      underWay.set(session_id, over)
      try {
        await work()
      } finally {
        if (underWay.get(session_id) === over) underWay.delete(session_id)
        resolve()
      }
    },
  }
}
