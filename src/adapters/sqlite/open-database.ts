import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { faults } from '../../faults/catalogue.ts'
import { applicationId, schema, schemaNumber } from './schema.ts'

/** The log is emptied into the database whenever it has this many pages; so it needs no more room than that. */
const logPages = 500

/** Runes come by the kilobyte: a page twice the usual size is begun half as often. */
const pageBytes = 8_192
const logBytes = logPages * (pageBytes + 24)

/** Opens a store, or makes a new one where there is nothing. What is not ours is refused and left as it was. */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
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

function prepareDatabase(db: DatabaseSync, path: string): void {
  const number = (pragma: string) => Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] as number
  const refuse = (problem: string) => faults.store_unusable({ store: path, problem })
  const version = number('user_version')
  const isNew = number('page_count') === 0 || (version === 0 && tableCount(db) === 0)
  if (!isNew && number('application_id') !== applicationId)
    throw refuse('it is a database of something else; choose another file.')
  if (!isNew && version < schemaNumber)
    throw refuse(
      `it was written by 0.1 (schema ${version}), and this version cannot continue its log. Export its sessions with 0.1; "statewright verify --bundle" reads those files.`,
    )
  if (version > schemaNumber)
    throw refuse(
      `it was written by a newer version (schema ${version}); this one knows schema ${schemaNumber}. Upgrade first.`,
    )

  // FULL, not NORMAL: under WAL, NORMAL may lose the last commits in a power cut,
  // and by then we have already told someone that they happened.
  db.exec(
    `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -32000; PRAGMA wal_autocheckpoint = ${logPages};`,
  )
  // A file that cannot be written is found now and not at the first append.
  db.exec('BEGIN IMMEDIATE')
  if (isNew) db.exec(schema)
  db.exec(`PRAGMA user_version = ${schemaNumber}; COMMIT`)
  layOutLog(`${path}-wal`)
}

/**
 * Gives the write-ahead log its size beforehand: SQLite writes over it again and
 * again, and to sync a file that grows takes about twice as long. What lies
 * behind the last commit is nothing to SQLite.
 */
function layOutLog(path: string): void {
  const file = openSync(path, 'r+')
  const { size } = fstatSync(file)
  try {
    if (size < logBytes) writeSync(file, Buffer.alloc(logBytes - size), 0, logBytes - size, size)
    fsyncSync(file)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error
    // It is only for speed. A disk without that much room keeps what it has for what is recorded.
    ftruncateSync(file, size)
  } finally {
    closeSync(file)
  }
}

function tableCount(db: DatabaseSync): number {
  return (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n
}

/** What went wrong, in a sentence, for those errors that have an ordinary cause. */
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
  if (code === 'ENOENT') return 'its folder does not exist'
  return message ?? String(error)
}

/** An error of SQLite or of the file system as a fault; anything else as it is. */
export function explain(error: unknown, path: string): unknown {
  const { errcode, code } = error as { errcode?: number; code?: string }
  if (errcode === undefined && !/^E[A-Z]+$/.test(code ?? '')) return error
  return faults.store_unusable({ store: path, problem: `${causeOf(error)}.` }, { cause: error })
}
