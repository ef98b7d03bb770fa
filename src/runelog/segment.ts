import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
// By its default export: a named import fails on an older Node before the entry point can print which version it needs.
import zlib from 'node:zlib'
import { faults } from '../faults/catalogue.ts'
import { isRecord } from '../runes/read-record.ts'
import type { StoredRecord } from '../runes/record.ts'
import { makeFolder, namesIn, readRegular, syncFolder, writeSynced } from './files.ts'

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
  /**
   * The files of a session that killed writers left: drafts, and copies of nothing but the given records. The file that the
   * store refers to is none. The caller keeps other writers from the files of the session meanwhile.
   */
  leftovers(session_id: string, records: readonly StoredRecord[], used: string | null): Promise<readonly string[]>
  /** Whether such a file is there. */
  has(file: string): boolean
  remove(file: string): Promise<void>
}

const namePattern = /^([A-Za-z0-9][A-Za-z0-9_.~-]*)-([0-9a-f]{16})\.ndjson\.zst$/

/** Names are read from a database that another program may have changed, so only names that `write` makes are accepted. */
function isSegmentName(name: unknown): name is string {
  return typeof name === 'string' && namePattern.test(name)
}

const draftEnd = '.part'

/** Whether a name is one that `write` makes for this session: a whole file, or its draft. */
export function isFileOf(session_id: string, name: string): boolean {
  const whole = name.endsWith(draftEnd) ? name.slice(0, -draftEnd.length) : name
  return isSegmentName(whole) && sessionOf(whole) === session_id
}

/** Whether a name is one that `write` makes, for a whole file or for its draft. */
export const isSegmentFile = (name: unknown) =>
  typeof name === 'string' && isSegmentName(name.endsWith(draftEnd) ? name.slice(0, -draftEnd.length) : name)

/** The session whose log a file should have, by its name; undefined if no archived log has such a name. */
export function sessionOf(file: string): string | undefined {
  return namePattern.exec(file)?.[1]?.replaceAll('~', ':')
}

/** The most bytes of a log that is archived. A file that unpacks to more is refused before it fills the memory. */
const mostUnpacked = 256 * 2 ** 20
/** Packs to two thirds of the size of gzip in less time, and unpacks three times as fast. Higher levels gain little. */
const level = 9

/** One compressed file per archived session. It is complete before it has its name, which follows from its content. */
export function createSegments(folder: string, most = mostUnpacked): Segments {
  let last: { readonly segment: string; readonly records: readonly ArchivedRecord[] } | undefined

  function placeOf(segment: string, isName: (name: string) => boolean = isSegmentName): string {
    if (isName(segment)) return join(folder, segment)
    throw faults.store_damaged({ what: `archived log ${segment}`, problem: 'no archived log has such a name.' })
  }

  async function write(session_id: string, records: readonly ArchivedRecord[]) {
    const bytes = await pack(records, most)
    const sha256 = digestOf(bytes)
    const segment = `${session_id.replaceAll(':', '~')}-${sha256.slice(0, 16)}.ndjson.zst`
    makeFolder(folder, { mode: 0o700 })
    const path = join(folder, segment)
    const draft = `${path}${draftEnd}`
    try {
      await writeSynced(draft, bytes, 'w')
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {})
      throw error
    }
    await syncFolder(folder)
    await syncFolder(dirname(folder))
    return { segment, sha256 }
  }

  const readStray = async (file: string) => unpack(await readRegular(join(folder, file), most), most)

  return {
    write: (session_id, records) =>
      write(session_id, records).catch((error: NodeJS.ErrnoException) => {
        throw faults.segment_unwritable({ session_id, folder, cause: error.message }, { cause: error })
      }),
    async read(segment) {
      if (last?.segment === segment) return last.records
      const damaged = (problem: string, cause?: unknown) =>
        faults.store_damaged({ what: `archived log ${segment}`, problem }, { cause })
      const bytes = await readRegular(placeOf(segment), most).catch((error: NodeJS.ErrnoException) => {
        const missing = `it is missing from ${folder}. Processes on PostgreSQL need one folder for all: STATEWRIGHT_SEGMENTS.`
        throw damaged(error.code === 'ENOENT' ? missing : `it cannot be read (${error.message}).`, error)
      })
      if (namePattern.exec(segment)?.[2] !== digestOf(bytes).slice(0, 16))
        throw damaged('it was changed: its content does not fit its name.')
      const records = await unpack(bytes, most).catch((error: Error) => {
        throw damaged(`${error.message}.`, error)
      })
      last = { segment, records }
      return records
    },
    readStray,
    async leftovers(session_id, records, used) {
      const left: string[] = []
      for (const name of namesIn(folder)) {
        if (name === used || !isFileOf(session_id, name)) continue
        if (name.endsWith(draftEnd)) left.push(name)
        else {
          const copied = await readStray(name).catch(() => undefined)
          if (copied !== undefined && isCopy(copied, hashesOf(records))) left.push(name)
        }
      }
      return left
    },
    has: (file) => existsSync(placeOf(file, isSegmentFile)),
    async remove(file) {
      if (last?.segment === file) last = undefined
      await rm(placeOf(file, isSegmentFile), { force: true })
      await syncFolder(folder)
    },
  }
}

async function pack(records: readonly ArchivedRecord[], most: number): Promise<Buffer> {
  const lines = records.map((record) => Buffer.from(`${JSON.stringify(record)}\n`))
  const length = lines.reduce((sum, line) => sum + line.length, 0)
  if (length > most) throw new Error(`its log has ${length} bytes, and an archive takes at most ${most}`)
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = zlib.constants
  const params = { [ZSTD_c_compressionLevel]: level, [ZSTD_c_checksumFlag]: 1 }
  return promisify(zlib.zstdCompress)(Buffer.concat(lines, length), { params })
}

/** The records in the bytes of a file. Any bytes may come: the reason why they are not an archived log is thrown. */
async function unpack(bytes: Buffer, most: number): Promise<readonly ArchivedRecord[]> {
  const unpacked = await promisify(zlib.zstdDecompress)(bytes, { maxOutputLength: most }).catch((error: Error) => {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    const problem = isTooLong ? `it unpacks to more than ${most} bytes` : `it cannot be unpacked (${error.message})`
    throw new Error(problem, { cause: error })
  })
  const records: ArchivedRecord[] = []
  // Line by line: one text of all bytes could be longer than a string may be.
  for (let at = 0, end = 0; at < unpacked.length; at = end + 1) {
    end = unpacked.indexOf(10, at)
    const record = end < 0 ? undefined : recordIn(unpacked.toString('utf8', at, end))
    if (record === undefined) throw new Error(`its line ${records.length + 1} is not a record`)
    records.push(record)
  }
  return records
}

function recordIn(line: string): ArchivedRecord | undefined {
  try {
    const record: unknown = JSON.parse(line)
    return isRecord(record) && 'position' in record && Number.isSafeInteger(record.position)
      ? (record as ArchivedRecord)
      : undefined
  } catch {
    return undefined
  }
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

/** The hash of each record, which a redaction does not change, by its last event. */
const hashesOf = (records: readonly StoredRecord[]): ReadonlyMap<number, string> =>
  new Map(records.map(({ event_id, hash }) => [event_id, hash]))

/** Whether a store that has these hashes has all of the records, redacted or not. */
export function isCopy(records: readonly StoredRecord[], stored: ReadonlyMap<number, string>): boolean {
  return records.every(({ event_id, hash }) => stored.get(event_id) === hash)
}

/** Whether a stray file can be removed without losing events. */
export function mayGo({ holds }: Stray): boolean {
  return holds === 'draft' || holds === 'copy'
}
