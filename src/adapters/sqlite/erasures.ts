import type { RunelogOptions } from '../../runelog/ports.ts'
import type { Segments } from '../../runelog/segment.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Reader } from './reader.ts'
import { type Step, step } from './statements.ts'

/** Files that must go because a redaction is on record. */
interface Doomed {
  readonly segments: readonly string[]
  readonly blobs: readonly string[]
}

export interface ErasurePorts {
  readonly reader: Reader
  readonly segments: Segments
  readonly write: GroupCommit['write']
  readonly eraseBlobs: RunelogOptions['eraseBlobs']
}

/**
 * Files cannot be removed in the transaction that records a redaction. Their
 * names are committed with it, and struck off when they are gone, so that a
 * process which is killed in between leaves the rest to the next one.
 */
export function createErasures({ reader, segments, write, eraseBlobs }: ErasurePorts) {
  const pending = () => JSON.parse(reader.meta('erasing') ?? '{"segments":[],"blobs":[]}') as Doomed
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
