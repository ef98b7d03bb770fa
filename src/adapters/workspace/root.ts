import { chownSync, constants, readdirSync, realpathSync, statSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { DidNotHappen } from '../../runtime/tools/tool.ts'
import { isOwnFile } from './own-files.ts'

/** An attempt to leave the workspace, stopped. The runtime records it as a violation, not as a failure. */
export const breach = (message: string): Error => Object.assign(new DidNotHappen(message), { sandboxViolation: true })

/** The unprivileged user that a workspace belongs to. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

const unprivileged: Owner = { uid: 65_534, gid: 65_534 }

/**
 * The owner of what a superuser makes in a workspace: commands run as the owner of the folder. An empty folder of the
 * superuser is given away. Undefined if this process is not the superuser, or the folder is in use and its own.
 */
export function ownerOf(folder: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(folder)
  if (uid !== 0) return { uid, gid: gid === 0 ? uid : gid }
  if (readdirSync(folder).length > 0) return undefined
  chownSync(folder, unprivileged.uid, unprivileged.gid)
  return unprivileged
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const folderFlags = O_RDONLY | O_DIRECTORY

/** A name in an open folder, whatever has become of the folder's own name. */
const through = (folder: FileHandle, name: string) => `/proc/self/fd/${folder.fd}/${name}`

/** The folder that the tools cannot leave. */
export type Root = ReturnType<typeof openRoot>

/**
 * A folder that cannot be left. A path is judged by its text, by where it leads, and by what was opened: a folder that
 * is swapped for a link in between is refused before a byte is read.
 */
export function openRoot(folder: string, owner?: Owner) {
  const path = realpathSync(folder)

  function within(given: string): string {
    if (given.includes('\0')) throw breach('A path has no zero bytes.')
    if (isAbsolute(given) || /^[a-zA-Z]:|^\\\\|^~/.test(given))
      throw breach(`${given} is not a path inside the workspace; write it relative to the workspace.`)
    const whole = join(path, given)
    if (!isInside(whole)) throw breach(`${given} leads out of the workspace.`)
    return whole
  }

  const isInside = (whole: string) => {
    const way = relative(path, whole)
    return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
  }

  /** The real path of something that is there, is inside, and is not ours. */
  async function find(given: string): Promise<string> {
    const real = await realpath(within(given))
    refuseOutside(real, given)
    return real
  }

  function refuseOutside(real: string, given: string) {
    if (!isInside(real)) throw breach(`${given} leads out of the workspace.`)
    refuseOwn(real, given)
  }

  /** Refuses the store, its key and its token, also where they lie in the workspace. */
  function refuseOwn(real: string, given: string) {
    if (isOwnFile(real)) throw breach(`${given} belongs to the store of this program, which no tool may touch.`)
  }

  const chown = async (file: FileHandle) => owner && file.chown(owner.uid, owner.gid)

  /** Runs a check of an open file, and closes the file if it fails. */
  async function orClose(file: FileHandle, check: () => Promise<void>) {
    try {
      await check()
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** An open folder inside. Files made through it are made there, also if its name leads elsewhere by then. */
  async function openFolder(way: string, given: string): Promise<FileHandle> {
    let folder = await open(path, folderFlags)
    for (const name of way.split(sep).filter(Boolean)) {
      const parent = folder
      try {
        refuseOwn(join(await placeOf(parent), name), given)
        const made = mkdir(through(parent, name)).then(() => true)
        const isNew = await made.catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
          return false
        })
        folder = await open(through(parent, name), folderFlags)
        if (isNew) await chown(folder)
      } finally {
        await parent.close()
      }
      await orClose(folder, async () => refuseOutside(await placeOf(folder), given))
    }
    return folder
  }

  const placeOf = (file: FileHandle) => readlink(`/proc/self/fd/${file.fd}`)

  async function openToWrite(given: string): Promise<FileHandle> {
    const whole = within(given)
    if (whole === path) throw breach('The workspace itself is not a file.')
    const folder = await openFolder(relative(path, dirname(whole)), given)
    try {
      const here = through(folder, basename(whole))
      refuseOwn(join(await placeOf(folder), basename(whole)), given)
      const known = await lstat(here).catch(() => undefined)
      // A link is written to where it leads; one that leads nowhere yet could be made to lead anywhere.
      if (known?.isSymbolicLink()) return await openToWrite(relative(path, await find(given)))
      if (known !== undefined && !known.isFile()) throw breach(`${given} is not a plain file.`)
      const file = await open(here, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644)
      if (known === undefined) await chown(file)
      return file
    } finally {
      await folder.close()
    }
  }

  return {
    path,
    contains: isInside,
    find,
    /** Opens a file for reading, or creates or replaces it for writing. The caller closes it. */
    async open(given: string, purpose: 'read' | 'write'): Promise<FileHandle> {
      const file =
        purpose === 'read'
          ? await open(await find(given), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
          : await openToWrite(given)
      await orClose(file, async () => {
        refuseOutside(await placeOf(file), given)
        const stat = await file.stat()
        if (!stat.isFile()) throw breach(`${given} is not a plain file.`)
        // A second name of the same file may lie outside, which cannot be detected.
        if (stat.nlink > 1) throw breach(`${given} has a second name, which may lie outside the workspace.`)
      })
      return file
    },
  }
}
