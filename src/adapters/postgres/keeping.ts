import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { refoldSession } from '../../runelog/judge.ts'
import { type Asked, archival, redaction } from '../../runelog/own-runes.ts'
import type { ArchivedBy, Ports, ReadModel, RedactedBy } from '../../runelog/port.ts'
import type { Preparing } from '../../runelog/prepare.ts'
import { isFileOf, type Segments } from '../../runelog/segment.ts'
import { type Connection, hasTable } from './connection.ts'
import { createReader } from './reader.ts'
import { erasing } from './schema.ts'
import type { Transaction } from './transaction.ts'

type Keeping = Ports & Preparing & { readonly models: readonly ReadModel[]; readonly segments: Segments | undefined }

async function locked({ connection }: Transaction, session_id: string, segments: Segments | undefined) {
  const reader = createReader(connection, segments)
  const place = await reader.place(session_id)
  if (place === undefined) throw faults.not_found({ what: 'session', id: session_id })
  return { place, records: await reader.whole(place) }
}

/**
 * Notes files of a session that must go, in the transaction that changes its log. None of their names fits the log then, so
 * no process makes such a file again, and they can be removed without a lock.
 */
function note(transaction: Transaction, session_id: string, files: readonly string[]): void {
  for (const file of files) transaction.also('setMeta', `${erasing}${file}`, session_id)
}

/** Removes what was noted. If this process is killed before, the next one that opens the store does it. */
export async function finishErasures(send: Connection['send'], segments: Segments): Promise<void> {
  type Noted = { readonly name: string; readonly session_id: string; readonly current: string | null }
  for (const { name, session_id, current } of await send<Noted>('erasing')) {
    const file = name.slice(erasing.length)
    // A note of a redaction names a file of its session. Any other was added to the database, and removes nothing.
    if (!isFileOf(session_id, file)) continue
    // Another folder than that of the store has none of its files, and the note must stay.
    if (!(segments.has(file) || (current !== null && segments.has(current)))) continue
    if (file !== current) await segments.remove(file)
    await send('unsetMeta', name)
  }
}

/** Erases one payload, and notes the files that still have it. Refused while a run of the session is held or can be acquired. */
export async function redactIn(
  transaction: Transaction,
  asked: Asked,
  by: RedactedBy,
  keeping: Keeping,
): Promise<Fault | undefined> {
  const { models, segments, ...ports } = keeping
  const { session_id, event_id } = asked
  const { place, records } = await locked(transaction, session_id, segments)
  const [busy] = await transaction.connection.send<{ run_id: string }>('underWay', session_id)
  if (busy !== undefined) throw faults.session_busy({ session_id, ...busy, asked: 'redact something in it' })
  const { original, replaced, erased, batch, blobs } = redaction(records, asked, by, ports)
  const result = await transaction.record(batch)
  if (result instanceof Fault) return result
  const left = (await segments?.leftovers(session_id, records, place.file)) ?? []
  await transaction.replaceRows(batch, refoldSession(models, [...erased, result.record], original))
  const { text } = transaction.connection
  // A log without workers has no table for blobs.
  if (blobs.length > 0 && (await hasTable(text, 'blob')))
    await text('DELETE FROM statewright.blob WHERE ref = ANY($1)', [blobs])
  if (place.runes === null || event_id > place.runes || segments === undefined) {
    transaction.also('erasePayload', place.id, replaced.event_id, replaced.payload, replaced.salt)
    // An event after the archiving is in no file.
    if (place.runes === null) note(transaction, session_id, left)
    return undefined
  }
  const { runes } = place
  const { segment } = await segments.write(
    session_id,
    erased.filter((record) => record.event_id <= runes),
  )
  transaction.also('changeSegment', place.id, segment)
  // A try before this one may have written the same file.
  note(
    transaction,
    session_id,
    [place.file ?? '', ...left].filter((file) => file !== segment),
  )
  return undefined
}

/** Moves the runes to a segment, which is on disk before the transaction that removes them commits. */
export async function archiveIn(
  transaction: Transaction,
  session_id: string,
  by: ArchivedBy,
  { segments, ...ports }: Keeping & { readonly segments: Segments },
): Promise<Fault | undefined> {
  const draft = (segment: string, sha256: string) =>
    archival(transaction.headOf(session_id), { session_id, segment, sha256 }, by, ports)
  const trial = await transaction.judge(draft('', ''))
  if (trial instanceof Fault) return trial
  const { place, records } = await locked(transaction, session_id, segments)
  const { segment, sha256 } = await segments.write(session_id, records)
  const result = await transaction.record(draft(segment, sha256))
  if (result instanceof Fault) return result
  transaction.also('addSegment', place.id, segment, place.event_id, records[0]?.position ?? 0)
  transaction.also('dropArchived', place.id, place.event_id)
  // A try before this one may have written its file after another process redacted something.
  note(transaction, session_id, await segments.leftovers(session_id, records, segment))
  return undefined
}
