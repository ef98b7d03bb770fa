import { readHeader } from './read-header.ts'
import { foldedRunesIn, linesOf, type RuneInTheMaking, type StoredRecord } from './record.ts'
import type { RecordedMove } from './rune.ts'

/** A record as the verifier reads it, in whichever format it was written. */
export interface Read {
  readonly session_id: string
  /** The first event, by the header. */
  readonly first: number
  /** The last event, by the record. */
  readonly last: number
  /** The bytes that the chain covers. */
  readonly header: string
  readonly hash: string
  readonly runes: readonly ReadRune[]
  /** The same runes of a record of the present format, to be completed by `toRunes`. */
  readonly inTheMaking?: RuneInTheMaking[]
}

/** A rune of a record. */
export interface ReadRune {
  readonly header: ReadHeader
  readonly payload: string
  /** Empty if the payload is, or was erased. */
  readonly salt: string
}

/** The part of a rune's header that the verifier needs. */
interface ReadHeader extends Partial<RecordedMove> {
  readonly event_id: number
  readonly kind: string
  readonly at: number
  readonly schema_version: number
  /** Null: the payload is empty. */
  readonly payload_sha256: string | null
}

/** Whether a payload of this kind and version of its schema is no more than a redaction leaves. */
export type IsErased = (kind: string, schema_version: number, payload: string) => boolean

/** Reads a record of the present format. A text says what is wrong with it. Any value may come. */
export function readRecord(record: unknown): Read | string {
  if (!isRecord(record)) return 'it is not a record: it needs event_id, header, payload, salt and hash.'
  const header = readHeader(record.header)
  if (header === undefined) return 'its header is not the canonical JSON of a header.'
  const { session_id, event_id: first, runes } = header
  const [payloads, salts] = [linesOf(record.payload), linesOf(record.salt)]
  if (payloads.length !== runes.length || salts.length !== runes.length)
    return `its header has ${runes.length} runes, its payload ${payloads.length} and its salt ${salts.length} lines.`
  const inTheMaking = foldedRunesIn(header)
  const read = inTheMaking.map((rune, i) => ({ header: rune, payload: payloads[i] ?? '', salt: salts[i] ?? '' }))
  const last = record.event_id
  return { session_id, first, last, header: record.header, hash: record.hash, runes: read, inTheMaking }
}

/** Whether a value has the fields of a stored record. */
export function isRecord(record: unknown): record is StoredRecord {
  if (typeof record !== 'object' || record === null) return false
  const { event_id, header, payload, salt, hash } = record as Partial<Record<keyof StoredRecord, unknown>>
  return (
    typeof event_id === 'number' &&
    typeof header === 'string' &&
    typeof payload === 'string' &&
    typeof salt === 'string' &&
    typeof hash === 'string'
  )
}
