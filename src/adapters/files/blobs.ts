import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  draftName,
  isDraftName,
  makeFolder,
  namesIn,
  readRegular,
  syncFolder,
  writeSynced,
} from '../../runelog/files.ts'
import { longText, othersTurn } from '../../runelog/slices.ts'
import { blobRef, isBlobRef } from '../../runes/redaction.ts'
import { type Blobs, sound } from '../../runtime/store.ts'

/** The drafts that this process is writing. They outlive a store that is closed meanwhile. */
const underWay = new Set<string>()

interface FileBlobs extends Blobs {
  /** The drafts that this process is not writing. No other process does while this one holds the store. `erase` takes them, too. */
  leftovers(): readonly string[]
}

/** One file per text, in a folder next to the store. A reference is made here and never read as a path. */
export function fileBlobs(folder: string): FileBlobs {
  return {
    async keep(text) {
      const bytes = Buffer.from(text)
      if (text.length > longText) await othersTurn()
      const ref = blobRef(hash('sha256', bytes))
      makeFolder(folder, { mode: 0o700 })
      const draft = join(folder, draftName())
      underWay.add(draft)
      try {
        await writeSynced(draft, bytes, 'wx')
        await rename(draft, join(folder, ref))
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {})
        throw error
      } finally {
        underWay.delete(draft)
      }
      await syncFolder(folder)
      return ref
    },
    async fetch(ref) {
      if (!isBlobRef(ref)) return undefined
      try {
        return sound(ref, await readRegular(join(folder, ref)))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    leftovers: () => namesIn(folder).filter((name) => isDraftName(name) && !underWay.has(join(folder, name))),
    async erase(names) {
      const known = names.filter((name) => isBlobRef(name) || isDraftName(name))
      if (known.length === 0 || !existsSync(folder)) return
      for (const name of known) await rm(join(folder, name), { force: true })
      await syncFolder(folder)
    },
  }
}
