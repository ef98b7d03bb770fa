import type { Kind } from './kinds.ts'
import type { Rune } from './rune.ts'
import { upcast } from './upcast.ts'

/** A rune as it stands in storage. `header` is canonical JSON; `hash` covers `prev_hash` and these very bytes. */
export interface StoredRecord {
  readonly event_id: number
  readonly header: string
  readonly hash: string
  readonly payload: string
  /** Null after redaction: what was hashed can no longer be tried. */
  readonly salt: string | null
}

/** That a log had this hash at this event. It makes a rewritten past show. */
export interface Mark {
  readonly event_id: number
  readonly hash: string
}

/** Reads a record back, in the shape that the present version of its kind has. */
export function toRune(record: StoredRecord, prev_hash: string): Rune {
  const rune = JSON.parse(record.header)
  rune.payload = upcast(rune.kind as Kind, rune.schema_version, JSON.parse(record.payload))
  rune.prev_hash = prev_hash
  rune.hash = record.hash
  if (record.salt === null) rune.redacted = true
  return rune
}
