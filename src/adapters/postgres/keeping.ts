import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { refoldSession } from '../../runelog/judge.ts'
import { type Asked, archival, redaction } from '../../runelog/own-runes.ts'
import type { ArchivedBy, Ports, ReadModel, RedactedBy } from '../../runelog/port.ts'
import type { Preparing } from '../../runelog/prepare.ts'
import type { Segments } from '../../runelog/segment.ts'
import { hasTable } from './connection.ts'
import { createReader } from './reader.ts'
import type { Transaction } from './transaction.ts'

type Keeping = Ports & Preparing & { readonly models: readonly ReadModel[]; readonly segments: Segments | undefined }

async function locked({ connection }: Transaction, session_id: string, segments: Segments | undefined) {
  const reader = createReader(connection, segments)
  const place = await reader.place(session_id)
  if (place === undefined) throw faults.not_found({ what: 'session', id: session_id })
  return { place, records: await reader.whole(place) }
}

/** Erases one payload; returns the segment it replaced. Refused while a run of the session is held or can be acquired. */
export async function redactIn(transaction: Transaction, asked: Asked, by: RedactedBy, keeping: Keeping) {
  const { models, segments, ...ports } = keeping
  const { session_id, event_id } = asked
  const { place, records } = await locked(transaction, session_id, segments)
  const [busy] = await transaction.connection.send<{ run_id: string }>('underWay', session_id)
  if (busy !== undefined) throw faults.session_busy({ session_id, ...busy, asked: 'redact something in it' })
  const { original, erased, batch, payload, blobs } = redaction(records, asked, by, ports)
  const result = await transaction.record(batch)
  if (result instanceof Fault) return result
  await transaction.replaceRows(refoldSession(models, [...erased, ...result.records], original))
  const { text } = transaction.connection
  // A log without workers has no table for blobs.
  if (blobs.length > 0 && (await hasTable(text, 'blob')))
    await text('DELETE FROM statewright.blob WHERE ref = ANY($1)', [blobs])
  if (place.runes === null || event_id > place.runes || segments === undefined) {
    transaction.also('erasePayload', place.id, event_id, payload)
    return { replaced: null }
  }
  const { segment } = await segments.write(session_id, erased.slice(0, place.runes))
  transaction.also('changeSegment', place.id, segment)
  return { replaced: place.file }
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
  transaction.also('addSegment', place.id, segment, records.length, records[0]?.position ?? 0)
  transaction.also('dropArchived', place.id, records.length)
  return undefined
}
