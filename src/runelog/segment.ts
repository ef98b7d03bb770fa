import type { StoredRecord } from '../runes/record.ts'

/** One line of an archived session, or of a bundle: the stored bytes as they were. */
export function recordLine({ event_id, header, payload, salt, hash }: StoredRecord): string {
  return `${JSON.stringify({ event_id, header, payload, salt, hash })}\n`
}

export function segmentText(records: readonly StoredRecord[]): string {
  return records.map(recordLine).join('')
}
