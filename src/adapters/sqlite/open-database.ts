import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { faults } from '../../faults/catalogue.ts'
import { printableName } from '../../kernel/printable.ts'
import { schemaProblem } from '../../runelog/models.ts'
import { DatabaseSync } from './driver.ts'
import { applicationId, busy_ms, schema, schemaNumber } from './schema.ts'

/** The write-ahead log is emptied into the database whenever it has this many pages, so it needs no more room. */
const logPages = 500
/** A rune has about a kilobyte: twice the usual page size halves how often a page is begun. */
const pageBytes = 8_192
/** A page that is not in the cache is read from that of the system, in microseconds. A worker at rest keeps its cache. */
const cacheKb = 4_000
const logBytes = logPages * (pageBytes + 24)

/** Opens a store, or makes a new one. A file that is not a Statewright store is refused and not changed. */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    refuseOrphans(path)
    refuseSecondName(path)
    // SQLite would create it readable by everyone; its log and its index take over the mode of the database.
    closeSync(openSync(path, 'a', 0o600))
    db = new DatabaseSync(path)
    prepareDatabase(db, path)
    return db
  } catch (error) {
    db?.close()
    throw explain(error, path)
  }
}

/** Opens a store without write access; the caller keeps writers away. Reads a leftover write-ahead log, too. */
export function openDatabaseToRead(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  const isLogged = hasLog(path)
  try {
    refuseAbsent(path)
    refuseSecondName(path)
    refuseForeign(path)
    db = readDatabase(path)
    if (isNew(db, path)) throw refused(path, 'it is empty; restore it from a backup, or let the first run make it.')
    return db
  } catch (error) {
    db?.close()
    if (!isLogged || (error as { errcode?: number }).errcode !== 14) throw explain(error, path)
    const problem = `its last commits are in ${path}-wal, which cannot be read here without ${path}-shm.`
    throw refused(path, `${problem} Copy the store to a folder that can be written to.`)
  }
}

/** Opens a database without making a file next to it. Without a write-ahead log it is read as immutable. */
export function readDatabase(path: string): DatabaseSync {
  const url = pathToFileURL(path)
  if (!hasLog(path)) url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true })
}

const hasLog = (path: string) => sizeOf(`${path}-wal`) > 0

/** Checks that these files are still the opened ones; throws if one was removed or replaced. */
export function watchFiles(files: readonly string[]): () => void {
  const inode = (file: string) => statSync(file, { throwIfNoEntry: false })?.ino
  const opened = files.map(inode)
  return () => {
    for (const [i, file] of files.entries())
      if (inode(file) !== opened[i]) throw new Error(`${file} was removed or replaced while it was open`)
  }
}

/** A file system tells times in steps of some milliseconds: two changes in one step look like one. */
const stepMs = 100

/** Tells whether a file beside this one may have been added, removed or renamed since the last call. Links are followed. */
export function watchFolder(file: string, now: () => number): () => boolean {
  const folder = dirname(realpathSync(file))
  let seen: Stats | undefined
  return () => {
    const before = seen
    seen = statSync(folder, { throwIfNoEntry: false })
    if (seen === undefined || seen.mtimeMs !== before?.mtimeMs || seen.ino !== before.ino) return true
    return now() - seen.mtimeMs <= stepMs
  }
}

const refused = (store: string, problem: string) => faults.store_unusable({ store, problem })
const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Only work makes a store. A command that reads a missing one is refused, with another reason if it was lost. */
export function refuseAbsent(path: string, store = path): void {
  refuseName(path)
  if (existsSync(path)) return
  refuseOrphans(path)
  throw refused(store, 'there is no such file; the first run makes it.')
}

/** Archived logs without a database: the old one is missing, and a new one would not refer to them. */
export function refuseOrphans(path: string): void {
  const folder = `${path}.segments`
  if (sizeOf(path) > 0 || !existsSync(folder)) return
  const files = readdirSync(folder)
  if (files.length === 0) return
  const logs = `${files.length} archived ${files.length === 1 ? 'log' : 'logs'}`
  const advice = 'Restore the database, or move that folder away to begin a new store.'
  throw refused(path, `the database is missing, and ${folder} holds ${logs} of it. ${advice}`)
}

/** Refuses names that cannot name a store: SQLite does not read every name as a path. */
export function refuseName(path: string): void {
  const refuse = (problem: string) => refused(printableName(`sqlite:${path}`), problem)
  if (path === '') throw refuse('it names no file. Name one, such as sqlite:./statewright.db.')
  if (path.includes('\0')) throw refuse('its name has a NUL character. Name a file without one.')
  const advice = `For a store in memory write memory:, else sqlite:./${path}.`
  if (path.startsWith(':')) throw refuse(`a file name cannot begin with a colon here. ${advice}`)
  if (/^file:/i.test(path))
    throw refuse('SQLite reads its name as a URL. Write the path itself, such as sqlite:./statewright.db.')
}

/** Refuses a file that is no store, before any file is made next to it. With a write-ahead log it is judged later. */
export function refuseForeign(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false })
  if (there === undefined) return
  if (there.isDirectory())
    throw refused(path, `it is a folder. Name a file in it, such as sqlite:${join(path, 'statewright.db')}.`)
  if (!there.isFile()) throw refused(path, 'it is not a file. Name a file, or one that is not there yet.')
  if (there.size === 0 || hasLog(path)) return
  let db: DatabaseSync | undefined
  try {
    db = readDatabase(path)
    isNew(db, path)
  } catch (error) {
    throw explain(error, path)
  } finally {
    db?.close()
  }
}

/** Whether the database is empty. One that is not a store of this version is refused. */
function isNew(db: DatabaseSync, path: string): boolean {
  const number = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0] as number
  const version = number('PRAGMA user_version')
  if (number('PRAGMA page_count') === 0) return true
  if (version === 0 && number('SELECT count(*) FROM sqlite_schema') === 0) return true
  if (number('PRAGMA application_id') !== applicationId)
    throw refused(path, 'it is a database of another program; choose another file.')
  const problem = schemaProblem(version, schemaNumber)
  if (problem !== undefined) throw refused(path, problem)
  return false
}

function prepareDatabase(db: DatabaseSync, path: string): void {
  const isMade = !isNew(db, path)
  // FULL, not NORMAL: under WAL, NORMAL may lose acknowledged commits in a power cut. Freed bytes are overwritten at
  // once: a changed row or a split page would leave copies of content that may be erased later.
  db.exec(
    `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA busy_timeout = ${busy_ms}; PRAGMA cache_size = ${-cacheKb}; PRAGMA wal_autocheckpoint = ${logPages};`,
  )
  // A file that cannot be written is found now and not at the first append.
  db.exec('BEGIN IMMEDIATE')
  if (!isMade) db.exec(schema)
  db.exec(`PRAGMA user_version = ${schemaNumber}; COMMIT`)
  layOutLog(`${path}-wal`)
}

const zeros = Buffer.alloc(1 << 17)

/** Sizes the write-ahead log beforehand: to sync a file that grows takes about twice as long. */
function layOutLog(path: string): void {
  const file = openSync(path, 'r+')
  const { size } = fstatSync(file)
  try {
    for (let at = size; at < logBytes; at += zeros.length) writeSync(file, zeros, 0, undefined, at)
    fsyncSync(file)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code !== 'ENOSPC' && code !== 'EFBIG') throw error
    // This is only for speed. A disk, or a limit of file sizes, without that much room keeps its space for records.
    ftruncateSync(file, size)
  } finally {
    closeSync(file)
  }
}

/** The cause of an error as a clause, for errors with an ordinary cause. */
export function causeOf(error: unknown): string {
  const { errcode, code, message } = error as { errcode?: number; code?: string; message?: string }
  const primary = (errcode ?? 0) & 0xff
  if (primary === 13 || code === 'ENOSPC') return 'the disk is full'
  if (primary === 8 || code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return 'it may be read but not written'
  if (primary === 26) return 'it is not a database'
  if (primary === 11) return 'the database is damaged'
  if (primary === 5) return 'another process is writing to it'
  if (primary === 10) return `the disk reported an error: ${message}`
  if (code === 'EISDIR') return 'it is a folder; name a file in it'
  if (code === 'ENOENT') return 'its folder does not exist'
  return message ?? String(error)
}

/** An error of SQLite or of the file system as a fault; any other error unchanged. */
export function explain(error: unknown, path: string): unknown {
  const { errcode, code } = error as { errcode?: number; code?: string }
  if (errcode === undefined && !/^E[A-Z]+$/.test(code ?? '')) return error
  return faults.store_unusable({ store: path, problem: `${causeOf(error)}.` }, { cause: error })
}

/** Log and lock are named after the database: under a second name two processes could write to it. */
export function refuseSecondName(path: string): void {
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (file === undefined) return
  if (file.isSymbolicLink())
    throw refusedName(path, `it is a link to ${readlinkSync(path)}`, 'Use the name that the link leads to')
  if (file.isFile() && file.nlink > 1)
    throw refusedName(path, `the file has ${file.nlink} names (hard links)`, 'Delete the other name, or make it a copy')
  if (mountPoints(readMounts()).has(realpathSync(path)))
    throw refusedName(path, 'the file is mounted by itself', 'Mount the folder that it is in')
}

const why = 'its log and its lock are named after it. Under another name, two processes could write to it at once'
const refusedName = (store: string, what: string, advice: string) => refused(store, `${what}, and ${why}. ${advice}.`)

/** The mount points in Linux's `mountinfo`: the fifth field, with spaces and the like in octal. */
export function mountPoints(mountinfo: string): ReadonlySet<string> {
  const decode = (field: string) =>
    field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
  return new Set(mountinfo.split('\n').map((line) => decode(line.split(' ')[4] ?? '')))
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}
