import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createSegments } from '../../runelog/segment.ts'
import type { Stray } from '../../runelog/stray.ts'
import type { Reader } from './reader.ts'

const segmentName = /^(.+)-[0-9a-f]{16}\.ndjson\.gz$/

/** Every file beside the store that its database does not refer to, and what would be lost with it. */
export async function findStrays(path: string, reader: Reader): Promise<readonly Stray[]> {
  const folder = `${path}.segments`
  const known = new Set(reader.segmentFiles())
  const strays: Stray[] = []
  for (const name of namesIn(folder)) {
    if (known.has(name)) continue
    const file = join(folder, name)
    const session_id = segmentName.exec(name)?.[1]?.replaceAll('~', ':') ?? null
    if (name.endsWith('.part')) strays.push({ file, holds: 'draft', session_id: null, events: 0 })
    else if (session_id === null) strays.push({ file, holds: 'unreadable', session_id, events: 0 })
    else strays.push({ file, session_id, ...(await contentOf(folder, name, session_id, reader)) })
  }
  // A blob gets its name when it is whole; until then the name begins with a dot.
  for (const name of namesIn(`${path}.blobs`))
    if (name.startsWith('.'))
      strays.push({ file: join(`${path}.blobs`, name), holds: 'draft', session_id: null, events: 0 })
  return strays
}

async function contentOf(
  folder: string,
  name: string,
  session_id: string,
  reader: Reader,
): Promise<Pick<Stray, 'holds' | 'events'>> {
  try {
    const records = await createSegments(folder).readStray(name)
    const stored = new Map<number, string>()
    for await (const { event_id, hash } of reader.records(session_id)) stored.set(event_id, hash)
    const isCopy = records.every(({ event_id, hash }) => stored.get(event_id) === hash)
    return { holds: isCopy ? 'copy' : 'only_copy', events: records.length }
  } catch {
    return { holds: 'unreadable', events: 0 }
  }
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : []
}
