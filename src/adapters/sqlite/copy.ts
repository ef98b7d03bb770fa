import { closeSync, cpSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { makeFolder, notMade } from '../../runelog/files.ts'
import { DatabaseSync } from './driver.ts'
import { explain, refuseForeign, refuseSecondName } from './open-database.ts'

/** Files of a store besides its database. Locks, caches and tokens can be made again, so they are left out. */
const companions = ['.pub', '.blobs', '.segments']

/**
 * Copies a store into a new folder, also while it is in use, and returns the path of the copied database. The database
 * is as of one moment; the files next to it only grow. The folder gets its name when it is complete.
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
    for (const end of companions)
      if (existsSync(`${path}${end}`)) cpSync(`${path}${end}`, join(draft, `${name}${end}`), { recursive: true })
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
