import { hash } from 'node:crypto'
import { faults } from '../faults/catalogue.ts'

/**
 * Whole outputs that were too long for the model and the log. They are named by
 * their content, so that keeping one twice keeps it once.
 */
export interface Blobs {
  /** Resolves once the text is safe; the reference goes into a rune after that. */
  keep(text: string): Promise<string>
  /** Undefined if nothing is kept under this reference. */
  fetch(ref: string): Promise<string | undefined>
  /** Removes what is kept under these references, if anything is. */
  erase(refs: readonly string[]): Promise<void>
}

/** The text, if the bytes are those that the reference names. Changed content is never handed out. */
export function sound(ref: string, bytes: Buffer): string {
  if (ref === `blob_${hash('sha256', bytes)}`) return bytes.toString('utf8')
  throw faults.store_damaged({ what: `output ${ref}`, problem: 'its content is not what was recorded.' })
}

export function memoryBlobs(sha256: (text: string) => string): Blobs {
  const kept = new Map<string, string>()
  return {
    async keep(text) {
      const ref = `blob_${sha256(text)}`
      kept.set(ref, text)
      return ref
    },
    fetch: async (ref) => kept.get(ref),
    async erase(refs) {
      for (const ref of refs) kept.delete(ref)
    },
  }
}
