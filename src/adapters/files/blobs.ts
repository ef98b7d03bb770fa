import { hash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, readRegular, syncFolder, writeSynced } from '../../runelog/files.ts'
import { longText, othersTurn } from '../../runelog/slices.ts'
import { blobRef, isBlobRef } from '../../runes/redaction.ts'
import { type Blobs, sound } from '../../runtime/store.ts'

/** One file per text, in a folder next to the store. A reference is made here and never read as a path. */
export function fileBlobs(folder: string): Blobs {
  return {
    async keep(text) {
      const bytes = Buffer.from(text)
      if (text.length > longText) await othersTurn()
      const ref = blobRef(hash('sha256', bytes))
      makeFolder(folder, { mode: 0o700 })
      const draft = join(folder, `.${randomUUID()}`)
      await writeSynced(draft, bytes, 'wx')
      await rename(draft, join(folder, ref))
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
    async erase(refs) {
      const known = refs.filter(isBlobRef)
      if (known.length === 0 || !existsSync(folder)) return
      for (const ref of known) await rm(join(folder, ref), { force: true })
      await syncFolder(folder)
    },
  }
}
