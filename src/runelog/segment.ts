import { createHash } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { faults } from '../faults/catalogue.ts'
import type { StoredRecord } from '../runes/rune.ts'
import { makeFolder, readRegular, syncFolder, writeSynced } from './files.ts'

/** A record of an archived session, with its place in the order of all commits, which a rebuild needs. */
export interface ArchivedRecord extends StoredRecord {
  readonly position: number
}

/** Archived logs as files. */
export interface Segments {
  /** Writes the records to a file. Its bytes and its name are then on disk. Same records, same file. */
  write(session_id: string, records: readonly ArchivedRecord[]): Promise<{ segment: string; sha256: string }>
  /** The records of a file that a store refers to. A file whose bytes do not fit its name is refused. */
  read(segment: string): Promise<readonly ArchivedRecord[]>
  /** The records of a file that no store refers to. Its name is not checked. */
  readStray(file: string): Promise<readonly ArchivedRecord[]>
  remove(segment: string): Promise<void>
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.~-]*-[0-9a-f]{16}\.ndjson\.gz$/

/** Names are read from a database that another program may have changed, so only names that `write` makes are accepted. */
export function isSegmentName(name: unknown): name is string {
  return typeof name === 'string' && namePattern.test(name)
}

/** One compressed file per archived session. It is complete before it has its name, which follows from its content. */
export function createSegments(folder: string): Segments {
  let last: { readonly segment: string; readonly records: readonly ArchivedRecord[] } | undefined

  function placeOf(segment: string): string {
    if (isSegmentName(segment)) return join(folder, segment)
    throw faults.store_damaged({ what: `archived log ${segment}`, problem: 'no archived log has such a name.' })
  }

  async function write(session_id: string, records: readonly ArchivedRecord[]) {
    const bytes = await promisify(gzip)(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    const sha256 = digestOf(bytes)
    const segment = `${session_id.replaceAll(':', '~')}-${sha256.slice(0, 16)}.ndjson.gz`
    makeFolder(folder, { mode: 0o700 })
    const path = join(folder, segment)
    await writeSynced(`${path}.part`, bytes, 'w')
    await rename(`${path}.part`, path)
    await syncFolder(folder)
    await syncFolder(dirname(folder))
    return { segment, sha256 }
  }

  return {
    write: (session_id, records) =>
      write(session_id, records).catch((error: NodeJS.ErrnoException) => {
        throw faults.segment_unwritable({ session_id, folder, cause: error.message }, { cause: error })
      }),
    async read(segment) {
      if (last?.segment === segment) return last.records
      const bytes = await readRegular(placeOf(segment)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        const problem = `it is missing from ${folder}. Processes on PostgreSQL need one folder for all: STATEWRIGHT_SEGMENTS.`
        throw faults.store_damaged({ what: `archived log ${segment}`, problem }, { cause: error })
      })
      if (!segment.endsWith(`-${digestOf(bytes).slice(0, 16)}.ndjson.gz`))
        throw new Error(`the archived log ${segment} was changed: its content does not fit its name`)
      const records = await recordsIn(bytes)
      last = { segment, records }
      return records
    },
    readStray: async (file) => recordsIn(await readRegular(join(folder, file))),

    async remove(segment) {
      if (last?.segment === segment) last = undefined
      await rm(placeOf(segment), { force: true })
      await syncFolder(folder)
    },
  }
}

async function recordsIn(bytes: Buffer): Promise<readonly ArchivedRecord[]> {
  const lines = (await promisify(gunzip)(bytes)).toString().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as ArchivedRecord)
}

/** The whole file: a compressed file has bytes that its content does not depend on. */
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** A file of cold storage, and the position of its first record in the order of all commits. */
export interface ColdFile {
  readonly file: string
  readonly first_position: number
}

/** All records in the order of the commits, cold ones in their old places. `cold` is sorted by first position. */
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

/** A record without its position, for export and verification. */
export function bare({ event_id, header, payload, salt, hash }: StoredRecord): StoredRecord {
  return { event_id, header, payload, salt, hash }
}

/**
 * A file in the folder of a store that the store does not refer to. `draft`: its writer was killed. `copy`: the store has all its
 * events. `only_copy`: it has events that the store lacks. `unreadable`: it is damaged or foreign.
 */
export interface Stray {
  readonly file: string
  readonly holds: 'draft' | 'copy' | 'only_copy' | 'unreadable'
  readonly session_id: string | null
  readonly events: number
}

/** Whether a stray file can be removed without losing events. */
export function mayGo({ holds }: Stray): boolean {
  return holds === 'draft' || holds === 'copy'
}
