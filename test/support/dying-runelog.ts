import { faults } from '../../src/faults/catalogue.ts'
import type { Append, Runelog } from '../../src/runelog/port.ts'

/**
 * One process's connection to a store, which dies with the process. From then
 * on nothing gets through it, for any holder: a worker that was left
 * behind can neither read nor write, as if it had been killed.
 */
export function connect(runelog: Runelog) {
  let doom: { readonly at: number; readonly when: 'before' | 'after' } | undefined
  let interception: { readonly fits: (batch: Append) => boolean; readonly act: () => Promise<unknown> } | undefined
  let appends = 0
  let isDead = false
  const death = Promise.withResolvers<void>()
  const die = () => {
    isDead = true
    death.resolve()
  }

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

  /** Writes on their way to the disk when the process died; the next process begins after them. */
  const under_way = new Set<Promise<unknown>>()
  function write(batch: Append) {
    const written = runelog.append(batch)
    const over = written.catch(() => undefined).finally(() => under_way.delete(over))
    under_way.add(over)
    return written
  }

  const connected: Runelog = {
    async append(batch) {
      if (isDead) throw poisoned()
      if (interception?.fits(batch)) {
        const { act } = interception
        interception = undefined
        await act()
      }
      appends += 1
      if (appends !== doom?.at) {
        const runes = await write(batch)
        // It is on disk, and no process is left to learn of it: a dead process begins nothing.
        if (isDead) throw poisoned()
        return runes
      }
      isDead = true
      if (doom.when === 'after') await write(batch)
      die()
      throw poisoned()
    },
    read: later(runelog.read),
    follow: alive(runelog.follow),
    head: later(runelog.head),
    sessionIds: later(runelog.sessionIds),
    row: later(runelog.row),
    rows: later(runelog.rows),
    tags: later(runelog.tags),
    count: later(runelog.count),
    search: later(runelog.search),
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
    /** Resolves when nothing it did can still reach the disk. */
    async die() {
      die()
      await Promise.all(under_way)
    },
    /** Resolves when the process is dead. */
    death: death.promise,
    /** Does something, once, right before the append that fits: actions of others between a decision and its record. */
    intercept(fits: (batch: Append) => boolean, act: () => Promise<unknown>) {
      interception = { fits, act }
    },
    hasIntercepted: () => interception === undefined,
    /** The n-th append from now is the last thing the process does: it is recorded (`after`) or not (`before`). */
    dieAt(n: number, when: 'before' | 'after') {
      doom = { at: appends + n, when }
    },
  }
}

export type Connection = ReturnType<typeof connect>

/** A first life on a connection that may be cut, and how far it came. It is dead afterwards, however it ended. */
export async function firstLife(
  runelog: Runelog,
  live: (connection: Connection) => Promise<unknown>,
  arrange: (connection: Connection) => void,
) {
  const first = connect(runelog)
  arrange(first)
  await Promise.race([live(first).catch(() => undefined), first.death])
  const lived = { first, appends: first.appends(), wasKilled: first.isDead() }
  await first.die()
  return lived
}
