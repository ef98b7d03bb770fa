import type { Store } from '../../src/app/open-store.ts'
import { Fault } from '../../src/faults/fault.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Life } from './life.ts'
import type { Outside } from './outside.ts'

/**
 * The store as a living process sees it: it may die before each append and
 * after it, when the append is on disk and no caller has heard of that. It reports the acknowledged
 * ones to the outside.
 */
export function dyingStore(disk: Store, life: Life, outside: Outside): Store {
  const whileAlive =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await life.alive()
      return work(...args)
    }
  const { read, head, row, rows } = disk.runelog
  const runelog: Runelog = {
    ...disk.runelog,
    async append(batch) {
      const kinds = [...new Set(batch.runes.map((rune) => rune.kind))].join(', ')
      await life.point(`before append of ${kinds}`)
      const runes = await disk.runelog.append(batch)
      await life.point(`after append of ${kinds}`)
      const last = runes instanceof Fault ? undefined : runes.at(-1)
      if (last !== undefined) {
        const { session_id, event_id, hash } = last
        await outside.note({ told: 'recorded', session_id, event_id, hash })
      }
      return runes
    },
    read: whileAlive(read),
    head: whileAlive(head),
    row: whileAlive(row),
    rows: whileAlive(rows),
    async close() {},
  }
  return { ...disk, runelog }
}
