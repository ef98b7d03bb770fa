import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { createSegments } from '../../src/runelog/segment.ts'
import type { StoredRecord } from '../../src/runes/record.ts'

/** Leaves in a folder of segments what killed processes can leave: a draft, and a whole file that no row names. Their names. */
export async function leaveBehind(folder: string, session_id: string, records: readonly StoredRecord[]) {
  const archived = records.map((record, i) => ({ ...record, position: i + 1 }))
  const { segment } = await createSegments(folder).write(session_id, archived)
  const draft = `${segment.replace(/[0-9a-f]{16}/, '0'.repeat(16))}.part`
  cpSync(join(folder, segment), join(folder, draft))
  return [draft, segment].sort()
}
