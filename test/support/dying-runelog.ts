import { faults } from '../../src/faults/catalogue.ts'
import type { Runelog } from '../../src/runelog/port.ts'

/**
 * One process's connection to a store, which dies with the process. From then
 * on nothing gets through it, whoever still holds it: a worker that was left
 * behind can neither read nor write, as if it had been killed.
 */
export function connect(runelog: Runelog) {
  let death: { readonly at: number; readonly when: 'before' | 'after' } | undefined
  let appends = 0
  let isDead = false

  const poisoned = () => faults.store_poisoned({ outcome: 'unknown', cause: 'the process was killed' })
  const alive =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      if (isDead) throw poisoned()
      return call(...args)
    }
  const later =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> =>
      alive(call)(...args)

  const connected: Runelog = {
    async append(batch) {
      if (isDead) throw poisoned()
      appends += 1
      if (appends !== death?.at) return runelog.append(batch)
      isDead = true
      if (death.when === 'after') await runelog.append(batch)
      throw poisoned()
    },
    read: later(runelog.read),
    follow: alive(runelog.follow),
    head: later(runelog.head),
    row: later(runelog.row),
    rows: later(runelog.rows),
    watch: runelog.watch,
    records: alive(runelog.records),
    redact: later(runelog.redact),
    archive: later(runelog.archive),
    rebuild: later(runelog.rebuild),
    close: async () => undefined,
  }
  return {
    runelog: connected,
    appends: () => appends,
    isDead: () => isDead,
    die() {
      isDead = true
    },
    /** The n-th append from now is the last thing the process does: it is recorded (`after`) or not (`before`). */
    dieAt(n: number, when: 'before' | 'after') {
      death = { at: appends + n, when }
    },
  }
}

export type Connection = ReturnType<typeof connect>
