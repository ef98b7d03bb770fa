import { join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { isDraftName, namesIn } from '../../runelog/files.ts'
import type { RunelogOptions } from '../../runelog/port.ts'
import { createSegments, isCopy, isSegmentFile, type Segments, type Stray, sessionOf } from '../../runelog/segment.ts'
import type { StoredRecord } from '../../runes/record.ts'
import { isBlobRef } from '../../runes/redaction.ts'
import type { Reader } from './reader.ts'
import { type Step, step } from './statements.ts'

interface Doomed {
  readonly segments: readonly string[]
  readonly blobs: readonly string[]
}

const isBlobFile = (name: unknown) => isBlobRef(name) || isDraftName(name)

/** The files that are still to be removed; undefined if the store cannot have written this list. */
export function readDoomed(text: string | undefined): Doomed | undefined {
  try {
    const { segments, blobs } = JSON.parse(text ?? '{"segments":[],"blobs":[]}') as Partial<Doomed>
    return segments?.every(isSegmentFile) && blobs?.every(isBlobFile) ? { segments, blobs } : undefined
  } catch {
    return undefined
  }
}

/** The reason why a list of files to remove is refused. */
export const doomedProblem = 'it names files that the store did not make. Nothing is removed.'
/** The fault for such a list. */
export const doomedDamage = () => faults.store_damaged({ what: 'meta erasing', problem: doomedProblem })

interface ErasurePorts {
  readonly reader: Reader
  readonly segments: Segments
  readonly write: (decide: () => readonly Step[]) => void
  readonly eraseBlobs: RunelogOptions['eraseBlobs']
}

/** The names of files to remove are committed with the redaction: after a kill, the next process removes the rest. */
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
      const inUse = new Set(reader.coldFiles().map(({ file }) => file))
      for (const file of files) if (!inUse.has(file)) await segments.remove(file)
      await eraseBlobs?.(blobs)
      write(() => [set({ segments: [], blobs: [] })])
    },
  }
}

/** Every file next to the store that its database does not refer to, and the loss if it is removed. */
export async function findStrays(path: string, reader: Reader): Promise<readonly Stray[]> {
  const folder = `${path}.segments`
  const known = new Set(reader.coldFiles().map(({ file }) => file))
  const strays: Stray[] = []
  const draft = (file: string) => strays.push({ file, holds: 'draft', session_id: null, events: 0 })
  for (const name of namesIn(folder)) {
    if (known.has(name)) continue
    const file = join(folder, name)
    const session_id = sessionOf(name) ?? null
    if (name.endsWith('.part')) draft(file)
    else if (session_id === null) strays.push({ file, holds: 'unreadable', session_id, events: 0 })
    else {
      const read = createSegments(folder).readStray(name)
      const found = read.then((records) => contentOf(records, reader.records(session_id)))
      const content = await found.catch(() => ({ holds: 'unreadable', events: 0 }) as const)
      strays.push({ file, session_id, ...content })
    }
  }
  // A blob gets its name when it is whole; until then the name begins with a dot.
  for (const name of namesIn(`${path}.blobs`)) if (name.startsWith('.')) draft(join(`${path}.blobs`, name))
  return strays
}

async function contentOf(records: readonly StoredRecord[], session: AsyncIterable<StoredRecord>) {
  const stored = new Map<number, string>()
  for await (const { event_id, hash } of session) stored.set(event_id, hash)
  return { holds: isCopy(records, stored) ? 'copy' : 'only_copy', events: records.at(-1)?.event_id ?? 0 } as const
}
