import { randomUUID } from 'node:crypto'
import { constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'

interface FolderOptions {
  readonly mode?: number
  /** The path as the user named it, if it is not the folder itself. */
  readonly named?: string
  readonly advice?: string
}

/** Makes a folder and its missing parents, one at a time: Node's recursion never ends below /proc. */
export function makeFolder(folder: string, { mode = 0o777, named = folder, advice }: FolderOptions = {}): void {
  try {
    make(resolve(folder), mode)
  } catch (error) {
    throw notMade(named, error, advice)
  }
}

function make(folder: string, mode: number): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (!existsSync(parent)) make(parent, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if (!isFolder(folder)) throw error
  }
}

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory()

/** The refusal for a file or folder that cannot be made. */
export function notMade(file: string, cause: unknown, advice = 'Name another folder.'): Fault {
  const { code } = cause as NodeJS.ErrnoException
  return faults.file_unusable({ file, problem: `it cannot be made (${code}). ${advice}` }, { cause })
}

/** Makes a file whose bytes are on disk when the promise resolves. Its name is, too, once the folder is synced. */
export async function writeSynced(path: string, bytes: Buffer, flags: 'w' | 'wx'): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A name for a whole output while it is written. A blob gets its own name when it is whole. */
export const draftName = () => `.${randomUUID()}`

/** Whether a name is one that `draftName` makes. */
export const isDraftName = (name: unknown) =>
  typeof name === 'string' && /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)

/** The names in a folder, sorted; none if there is no such folder. */
export function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : []
}

/** Syncs the names in a folder to disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The bytes of a regular file. A pipe or a device would never end, and is refused before anything is read from it. */
export async function readRegular(path: string, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  // Without waiting: to open a pipe without a writer would block forever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error('it is not a regular file')
    if (found.size > most) throw new Error(`it has ${found.size} bytes, and at most ${most} are read`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}
