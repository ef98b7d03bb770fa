import { closeSync, cpSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { makeFolder, namesIn, notMade } from '../../runelog/files.ts'
import { readDoomed } from './companion-files.ts'
import { DatabaseSync } from './driver.ts'
import { explain, refuseForeign, refuseSecondName } from './open-database.ts'

/**
 * Copies a store into a new folder, also while it is in use, and returns the path of the copied database. The database
 * is as of one moment. Of the files next to it, it takes those that the copied database refers to. Leftovers of killed
 * processes may hold redacted content; locks, caches and tokens can be made again. The folder gets its name when it is
 * complete.
 */
export function copyStore(path: string, folder: string, key: string | undefined): string {
  refuseSecondName(path)
  refuseForeign(path)
  if (existsSync(folder)) throw faults.file_unusable({ file: folder, problem: 'it exists already; name a new folder.' })
  const draft = `${folder}.part`
  const name = basename(path)
  try {
    rmSync(draft, { recursive: true, force: true })
  } catch (error) {
    throw notMade(folder, error)
  }
  makeFolder(draft, { mode: 0o700, named: folder })
  try {
    copyDatabase(path, join(draft, name))
    if (existsSync(`${path}.pub`)) cpSync(`${path}.pub`, join(draft, `${name}.pub`))
    copyFiles(path, join(draft, name))
    if (key !== undefined && existsSync(key)) cpSync(key, join(draft, `${name}.key`))
    renameSync(draft, folder)
    return join(folder, name)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw explain(error, path)
  }
}

function copyDatabase(from: string, to: string): void {
  // Make an empty private file first: SQLite would make one that everyone may read.
  closeSync(openSync(to, 'wx', 0o600))
  const db = new DatabaseSync(from, { readOnly: true })
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
  const file = openSync(to, 'r+')
  fsyncSync(file)
  closeSync(file)
}

/** Every whole output that is not about to be erased, and the archived logs that the copied database names. */
function copyFiles(from: string, to: string): void {
  const db = new DatabaseSync(to)
  const named = new Set(
    db
      .prepare('SELECT file FROM segment')
      .all()
      .map(({ file }) => file),
  )
  const erasing = db.prepare("SELECT value FROM meta WHERE name = 'erasing'").get()?.value
  db.close()
  const doomed = new Set(readDoomed(erasing === undefined ? undefined : String(erasing))?.blobs)
  copyNamed(`${from}.blobs`, `${to}.blobs`, (file) => !(file.startsWith('.') || doomed.has(file)))
  copyNamed(`${from}.segments`, `${to}.segments`, (file) => named.has(file))
}

function copyNamed(from: string, to: string, isWanted: (file: string) => boolean): void {
  if (!existsSync(from)) return
  makeFolder(to, { mode: 0o700 })
  for (const file of namesIn(from).filter(isWanted)) cpSync(join(from, file), join(to, file), { recursive: true })
}
