import { chownSync, readdirSync, statSync } from 'node:fs'

/** The unprivileged user that a workspace belongs to. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The unprivileged user of every Linux. */
const unprivileged: Owner = { uid: 65_534, gid: 65_534 }

/**
 * Whose files a superuser makes in a workspace. Its tools run commands as the owner of the folder, so what they write
 * must be the owner's, too. An empty folder of the superuser is handed to that user. Undefined: this process is not the
 * superuser, or the folder is in use and is the superuser's.
 */
export function ownerOf(folder: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(folder)
  if (uid !== 0) return { uid, gid: gid === 0 ? uid : gid }
  if (readdirSync(folder).length > 0) return undefined
  chownSync(folder, unprivileged.uid, unprivileged.gid)
  return unprivileged
}
