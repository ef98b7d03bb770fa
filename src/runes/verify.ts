import type { Sha256 } from '../kernel/digest.ts'
import { genesis, headerNames, link, payloadDigest } from './chain.ts'
import type { StoredRecord } from './record.ts'

/** The first event that is not what was recorded, and how that shows. */
export interface BadEvent {
  readonly event_id: number
  readonly problem: string
}

/** That a log had this hash at this event. Whoever holds it notices a rewritten past. */
export interface Mark {
  readonly event_id: number
  readonly hash: string
}

export interface Verifier {
  /** Takes the records in order. Once it has named a bad event, the rest proves nothing. */
  take(record: StoredRecord): BadEvent | undefined
  /** What only the end can show: events that are missing, and erasures nobody vouched for. */
  end(): BadEvent | undefined
  /** How far the log is proved. */
  head(): Mark
}

interface Erasure {
  readonly remains_sha256: string
}

/**
 * Checks the stored bytes of one session. Deleting, inserting, changing and
 * moving events breaks the chain by itself; cutting off the end, or computing
 * the whole chain anew, shows only against marks that were kept elsewhere.
 */
export function createVerifier(session_id: string, sha256: Sha256, marks: readonly Mark[] = []): Verifier {
  const known = new Map(marks.map((mark) => [mark.event_id, mark.hash]))
  const erased = new Map<number, Erasure>()
  let event_id = 0
  let hash = genesis

  function take(record: StoredRecord): BadEvent | undefined {
    const expected = event_id + 1
    const bad = (problem: string) => ({ event_id: expected, problem })
    const header = readHeader(record.header)
    if (header === undefined) return bad('its header is not canonical JSON.')
    if (record.event_id !== expected || header.event_id !== expected)
      return bad(`in its place stands event ${header.event_id}.`)
    if (header.session_id !== session_id) return bad(`it belongs to session ${header.session_id}.`)
    if (link(hash, record.header, sha256) !== record.hash)
      return bad('its hash does not follow from the event before it.')
    if (record.salt === null) erased.set(expected, { remains_sha256: sha256(record.payload) })
    else if (payloadDigest(record.salt, record.payload, sha256) !== header.payload_sha256)
      return bad('its payload is not the one that was recorded.')
    if (known.has(expected) && known.get(expected) !== record.hash)
      return bad('its hash is not the one that was signed; it, or one before it, was written anew.')

    if (header.kind === 'rune.redacted') {
      const vouched = JSON.parse(record.payload) as { event_id: number; remains_sha256: string }
      const erasure = erased.get(vouched.event_id)
      if (erasure === undefined)
        return { event_id: vouched.event_id, problem: 'it was redacted, yet its payload is there.' }
      if (erasure.remains_sha256 !== vouched.remains_sha256)
        return { event_id: vouched.event_id, problem: 'what its redaction left was changed afterwards.' }
      erased.delete(vouched.event_id)
    }
    event_id = expected
    hash = record.hash
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

  return { take, end, head: () => ({ event_id, hash }) }
}

interface ReadHeader {
  readonly event_id: number
  readonly session_id: string
  readonly kind: string
  readonly payload_sha256: string
}

const places = new Map<string, number>(headerNames.map((name, i) => [name, i]))

/** A header is flat and its names are known, so it is canonical if it prints as it reads and its names are in order. */
function readHeader(text: string): ReadHeader | undefined {
  let header: ReadHeader
  try {
    header = JSON.parse(text)
  } catch {
    return undefined
  }
  if (JSON.stringify(header) !== text) return undefined
  let last = -1
  for (const name in header) {
    const place = places.get(name)
    if (place === undefined || place <= last) return undefined
    last = place
  }
  return header
}
