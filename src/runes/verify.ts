import type { Sha256 } from '../kernel/digest.ts'
import type { Reading } from '../kernel/machine.ts'
import type { CheckSignature } from './checkpoint.ts'
import { moveProblem } from './move-problem.ts'
import { isErased, readRedaction, redactionText } from './redaction.ts'
import {
  firstHashedTexts,
  genesis,
  hashedTexts,
  headerNames,
  isSalt,
  type Mark,
  type RecordedMove,
  type StoredRecord,
} from './rune.ts'

/** The first event that differs from the record, and the evidence. */
export interface BadEvent {
  readonly event_id: number
  readonly problem: string
}

/** An erasure with a recorded redaction. */
export interface Redacted {
  readonly event_id: number
  /** The event that records the erasure. */
  readonly recorded_at: number
  readonly reason: string
  /** Null in logs of 0.1, which did not sign redactions. */
  readonly redacted_by: string | null
  readonly public_key: string | null
  /** A mark covers the erased event and not the erasure: the payload was there when the mark was made. */
  readonly is_after_mark: boolean
}

/** Checks the records of one log in order. */
export interface Verifier {
  /** Checks the next record. After a bad event, later results prove nothing. Any bytes may come; it never throws. */
  take(record: unknown): BadEvent | undefined
  /** Checks what only the end can show: missing events, and erasures without a redaction. */
  end(): BadEvent | undefined
  /** How far the log is proved. */
  head(): Mark
  redactions(): readonly Redacted[]
}

/** The ports of a verifier. */
export interface VerifierPorts {
  readonly sha256: Sha256
  readonly check: CheckSignature
  /** The only keys whose signatures count. Undefined: every key counts, and the reader checks which. */
  readonly trusted: readonly string[] | undefined
  /** Without it, the newest. */
  readonly format?: LogFormat
  /** Reads the guards of a session again, record by record. Without it, only the declarations judge them. */
  readonly readAgain?: (session_id: string) => (record: StoredRecord) => string | undefined
}

/** How a log is written: 1 is that of 0.1, 2 has signed redactions, and 3 the readings of guards. */
export type LogFormat = 1 | 2 | 3

type Erasure = { readonly hash: string; readonly remains_sha256: string }

/**
 * Checks the stored bytes of one session. Deleted, inserted, changed and moved events break the chain. A cut end, or a
 * chain that was hashed again, shows only against marks that were kept elsewhere.
 */
export function createVerifier(session_id: string, ports: VerifierPorts, marks: readonly Mark[] = []): Verifier {
  const { sha256, check, trusted, format = 3 } = ports
  const texts = format === 1 ? firstHashedTexts : hashedTexts
  const readAgain = ports.readAgain?.(session_id)
  const marked = Map.groupBy(marks, (mark) => mark.event_id)
  const erased = new Map<number, Erasure>()
  const redactions: Redacted[] = []
  let event_id = 0
  let hash = genesis

  function take(record: unknown): BadEvent | undefined {
    const expected = event_id + 1
    const bad = (problem: string) => ({ event_id: expected, problem })
    if (!isRecord(record)) return bad('it is not a record: it needs event_id, header, payload, salt and hash.')
    const header = readHeader(record.header)
    if (header === undefined) return bad('its header is not the canonical JSON of a header.')
    if (record.event_id !== expected || header.event_id !== expected)
      return bad(`in its place stands event ${record.event_id === expected ? header.event_id : record.event_id}.`)
    if (header.session_id !== session_id) return bad(`it belongs to session ${header.session_id}.`)
    if (sha256(texts.rune(hash, record.header)) !== record.hash)
      return bad('its hash does not follow from the event before it.')
    const problem = payloadProblem(record, header)
    if (problem !== undefined) return bad(problem)
    const illegal = format < 3 ? undefined : (moveProblem(header) ?? readAgain?.(record))
    if (illegal !== undefined) return bad(illegal.replace(/^[A-Z]/, (first) => first.toLowerCase()))
    if (marked.get(expected)?.some((mark) => mark.hash !== record.hash))
      return bad('its hash is not the one that was signed; this event, or one before it, was rewritten.')

    if (record.salt === null)
      erased.set(expected, { hash: record.hash, remains_sha256: sha256(texts.remains(record.payload)) })
    if (header.kind === 'rune.redacted') {
      const found = redactionProblem(record, header)
      if (found !== undefined) return found
    }
    event_id = expected
    hash = record.hash
    return undefined
  }

  function payloadProblem({ salt, payload }: StoredRecord, header: ReadHeader): string | undefined {
    if (salt === null)
      return isErased(header.kind, header.schema_version, payload)
        ? undefined
        : 'its payload was erased, and its remains are not what a redaction leaves.'
    if (!isSalt(salt)) return 'its salt is not 32 hex digits.'
    // An unpaired surrogate is hashed as the replacement character, and would pass for it.
    if (!payload.isWellFormed() || sha256(texts.payload(salt, payload)) !== header.payload_sha256)
      return 'its payload is not the one that was recorded.'
    return undefined
  }

  function redactionProblem({ payload, event_id: recorded_at }: StoredRecord, header: ReadHeader) {
    const vouched = readRedaction(payload)
    if (vouched === undefined) return { event_id: recorded_at, problem: 'it does not say what was redacted.' }
    const { event_id, reason, remains_sha256, blobs, redacted_by, public_key, signature } = vouched
    const bad = (problem: string) => ({ event_id, problem })
    const erasure = erased.get(event_id)
    if (erasure === undefined) return bad('it was redacted, yet its payload is there.')
    if (erasure.remains_sha256 !== remains_sha256) return bad('what its redaction left was changed afterwards.')
    if (format !== 1) {
      const by = `the redaction in event ${recorded_at}`
      if (redacted_by === null || public_key === null || signature === null) return bad(`${by} is not signed.`)
      if (trusted !== undefined && !trusted.includes(public_key))
        return bad(`${by} was signed with the key ${public_key}, which is not the key of this store.`)
      const { hash } = erasure
      const statement = { session_id, event_id, hash, remains_sha256, blobs, reason, redacted_by, at: header.at }
      if (!check({ text: redactionText(statement, public_key), public_key, signature }))
        return bad(`the signature of ${by} does not fit what it says.`)
    }
    erased.delete(event_id)
    const is_after_mark = marks.some((mark) => mark.event_id >= event_id && mark.event_id < recorded_at)
    redactions.push({ event_id, recorded_at, reason, redacted_by, public_key, is_after_mark })
    return undefined
  }

  function end(): BadEvent | undefined {
    const [unvouched] = erased.keys()
    if (unvouched !== undefined)
      return { event_id: unvouched, problem: 'its payload was erased and no redaction vouches for that.' }
    const missing = marks.find((mark) => mark.event_id > event_id)
    if (missing !== undefined)
      return { event_id: event_id + 1, problem: `it is missing; event ${missing.event_id} was signed.` }
    return undefined
  }

  return { take, end, head: () => ({ event_id, hash }), redactions: () => redactions }
}

function isRecord(record: unknown): record is StoredRecord {
  if (typeof record !== 'object' || record === null) return false
  const { event_id, header, payload, salt, hash } = record as Partial<Record<keyof StoredRecord, unknown>>
  return (
    typeof event_id === 'number' &&
    typeof header === 'string' &&
    typeof payload === 'string' &&
    (salt === null || typeof salt === 'string') &&
    typeof hash === 'string'
  )
}

interface ReadHeader extends Partial<RecordedMove> {
  readonly event_id: number
  readonly session_id: string
  readonly kind: string
  readonly at: number
  readonly schema_version: number
  readonly payload_sha256: string
}

const places = new Map<string, number>(headerNames.map((name, i) => [name, i]))
const numbers: ReadonlySet<string> = new Set(['event_id', 'at', 'schema_version'])
const nullable: ReadonlySet<string> = new Set(['from', 'trigger'])
const needed = ['event_id', 'session_id', 'kind', 'at', 'schema_version', 'payload_sha256']

/** A header is flat and its names are known, so it is canonical if it prints as it reads and its names are in order. */
function readHeader(text: string): ReadHeader | undefined {
  let header: ReadHeader
  try {
    header = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof header !== 'object' || header === null || JSON.stringify(header) !== text || !text.isWellFormed())
    return undefined
  let last = -1
  for (const name in header) {
    const place = places.get(name)
    if (place === undefined || place <= last) return undefined
    last = place
    const value: unknown = header[name as keyof ReadHeader]
    if (name === 'guards') {
      if (!areReadings(value)) return undefined
    } else if (value === null ? !nullable.has(name) : typeof value !== (numbers.has(name) ? 'number' : 'string'))
      return undefined
  }
  return needed.every((name) => name in header) ? header : undefined
}

/** Readings in their canonical form: each has exactly its three fields, in order. */
function areReadings(value: unknown): value is readonly Reading[] {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((one: unknown) => {
    const { because, guard, holds } = Object(one) as Partial<Record<keyof Reading, unknown>>
    if (typeof because !== 'string' || typeof guard !== 'string' || typeof holds !== 'boolean') return false
    return Object.keys(Object(one)).join() === 'because,guard,holds'
  })
}
