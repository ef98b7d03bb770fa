import type { StoredRecord } from '../runes/record.ts'
import type { ArchivedRecord } from './segment.ts'

/** A file of cold storage, and where its first record stands in the order of all commits. */
export interface ColdFile {
  readonly file: string
  readonly first_position: number
}

/**
 * The records of a store in the order of the commits: those of its table, and those of cold storage in their old
 * places. `cold` is sorted by its first positions; a file is read when its first record is due.
 */
export async function* inCommitOrder(
  hot: Iterable<ArchivedRecord> | AsyncIterable<ArchivedRecord>,
  cold: readonly ColdFile[],
  read: (file: string) => Promise<readonly ArchivedRecord[]>,
): AsyncGenerator<ArchivedRecord, void, void> {
  const waiting = [...cold]
  const open: { readonly records: readonly ArchivedRecord[]; next: number }[] = []
  const positionOf = ({ records, next }: (typeof open)[number]) => records[next]?.position ?? Number.POSITIVE_INFINITY

  async function* before(limit: number): AsyncGenerator<ArchivedRecord, void, void> {
    for (;;) {
      for (let due = waiting[0]; due !== undefined && due.first_position < limit; due = waiting[0]) {
        open.push({ records: await read(due.file), next: 0 })
        waiting.shift()
      }
      let least: (typeof open)[number] | undefined
      for (const cursor of open) if (least === undefined || positionOf(cursor) < positionOf(least)) least = cursor
      const record = least?.records[least.next]
      if (least === undefined || record === undefined || record.position > limit) return
      least.next += 1
      if (least.next === least.records.length) open.splice(open.indexOf(least), 1)
      yield record
    }
  }

  for await (const record of hot) {
    yield* before(record.position)
    yield record
  }
  yield* before(Number.POSITIVE_INFINITY)
}

/** A record without its position: what is exported and verified. */
export function bare({ event_id, header, payload, salt, hash }: StoredRecord): StoredRecord {
  return { event_id, header, payload, salt, hash }
}
