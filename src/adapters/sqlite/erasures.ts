import { faults } from '../../faults/catalogue.ts'
import type { RunelogOptions } from '../../runelog/ports.ts'
import { isSegmentName, type Segments } from '../../runelog/segment.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Reader } from './reader.ts'
import { type Step, step } from './statements.ts'

/** Files that must go because a redaction is on record. */
interface Doomed {
  readonly segments: readonly string[]
  readonly blobs: readonly string[]
}

/** What is still to be removed, as the database says; undefined if the store cannot have written that. */
export function readDoomed(text: string | undefined): Doomed | undefined {
  try {
    const { segments, blobs } = JSON.parse(text ?? '{"segments":[],"blobs":[]}') as Partial<Doomed>
    if (segments?.every(isSegmentName) && blobs?.every((ref) => /^blob_[0-9a-f]{64}$/.test(ref)))
      return { segments, blobs }
  } catch {
    // Neither JSON nor lists: no one ordered this.
  }
  return undefined
}

export const doomedProblem = 'it names files that the store did not make. Nothing is removed.'
export const doomedDamage = () => faults.store_damaged({ what: 'meta erasing', problem: doomedProblem })

export interface ErasurePorts {
  readonly reader: Reader
  readonly segments: Segments
  readonly write: GroupCommit['write']
  readonly eraseBlobs: RunelogOptions['eraseBlobs']
}

/**
 * Files cannot be removed in the transaction that records a redaction. Their names are committed with it, and struck
 * off when they are gone, so that a process which is killed in between leaves the rest to the next one.
 */
export function createErasures({ reader, segments, write, eraseBlobs }: ErasurePorts) {
  const pending = () => {
    const doomed = readDoomed(reader.meta('erasing'))
    if (doomed === undefined) throw doomedDamage()
    return doomed
  }
  const set = (doomed: Doomed) => step('setMeta', 'erasing', JSON.stringify(doomed))

  return {
    note(more: Doomed): Step {
      const { segments: files, blobs } = pending()
      return set({ segments: [...files, ...more.segments], blobs: [...blobs, ...more.blobs] })
    },
    async finish(): Promise<void> {
      const { segments: files, blobs } = pending()
      if (files.length + blobs.length === 0) return
      const inUse = new Set(reader.segmentFiles())
      for (const file of files) if (!inUse.has(file)) await segments.remove(file)
      await eraseBlobs?.(blobs)
      write(() => [set({ segments: [], blobs: [] })])
    },
  }
}
