import type { Sha256 } from '../kernel/digest.ts'
import type { CheckSignature } from './checkpoint.ts'
import { firstHashedTexts, isFirstErased, readFirst } from './first-format.ts'
import { moveProblem } from './move-problem.ts'
import { type IsErased, type Read, type ReadRune, readRecord } from './read-record.ts'
import { emptyPayload, genesis, hashedTexts, isSalt, type Mark, type StoredRecord, toRunes } from './record.ts'
import { readRedaction, redactionText } from './redaction.ts'
import type { Rune } from './rune.ts'

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
  /** Whether a payload is what a redaction leaves. A port, since the schemas of all kinds take long to load. */
  readonly isErased: IsErased
  /** The only keys whose signatures count. Undefined: every key counts, and the reader checks which. */
  readonly trusted: readonly string[] | undefined
  /** Without it, the newest. */
  readonly format?: LogFormat
  /** Reads the guards of a session again, rune by rune. Without it, only the declarations judge them. */
  readonly readAgain?: (session_id: string) => (rune: Rune) => string | undefined
}

/** How a log is written. 1 is that of 0.1: a record for each rune, without signed redactions and readings of guards. */
export type LogFormat = 1 | 2

type Erasure = { readonly hash: string; readonly remains_sha256: string; readonly isLeast: boolean }

/**
 * Checks the stored bytes of one session. Deleted, inserted, changed and moved events break the chain. A cut end, or a
 * chain that was hashed again, shows only against marks that were kept elsewhere.
 */
export function createVerifier(session_id: string, ports: VerifierPorts, marks: readonly Mark[] = []): Verifier {
  const { sha256, check, trusted, format = 2 } = ports
  const [texts, read] = format === 1 ? [firstHashedTexts, readFirst] : [hashedTexts, readRecord]
  const isLeast = format === 1 ? isFirstErased(ports.isErased) : ports.isErased
  const readAgain = format === 1 ? undefined : ports.readAgain?.(session_id)
  const marked = Map.groupBy(marks, (mark) => mark.event_id)
  const erased = new Map<number, Erasure>()
  const redactions: Redacted[] = []
  let event_id = 0
  let hash = genesis

  function take(given: unknown): BadEvent | undefined {
    const expected = event_id + 1
    const bad = (problem: string, event_id = expected) => ({ event_id, problem })
    const record = read(given)
    if (typeof record === 'string') return bad(record)
    const { first, last, header, runes } = record
    if (first !== expected) return bad(`in its place stands event ${first}.`)
    if (last !== first + runes.length - 1) return bad(`its record ends with event ${last}, and has ${runes.length}.`)
    if (record.session_id !== session_id) return bad(`it belongs to session ${record.session_id}.`)
    if (sha256(texts.commit(hash, header)) !== record.hash)
      return bad('its hash does not follow from the event before it.')
    const content = contentIn(runes) ?? (format === 1 ? undefined : moveIn(given as StoredRecord, record))
    if (content !== undefined) return content
    const rewritten = rewrittenIn(record)
    if (rewritten !== undefined) return bad(signed, rewritten)

    for (const { header, payload, salt } of runes)
      if (salt === '' && header.payload_sha256 !== null)
        erased.set(header.event_id, {
          hash: record.hash,
          remains_sha256: sha256(texts.remains(payload)),
          isLeast: payload.isWellFormed() && isLeast(header.kind, header.schema_version, payload),
        })
    for (const rune of runes) {
      const found = rune.header.kind === 'rune.redacted' ? redactionProblem(rune) : undefined
      if (found !== undefined) return found
    }
    event_id = last
    hash = record.hash
    return undefined
  }

  function payloadProblem({ header, payload, salt }: ReadRune): string | undefined {
    if (header.payload_sha256 === null)
      return salt === '' && payload === emptyPayload ? undefined : 'its payload was recorded as empty.'
    if (salt === '') return undefined
    if (!isSalt(salt)) return 'its salt is not 32 hex digits.'
    // An unpaired surrogate is hashed as the replacement character, and would pass for it.
    if (!payload.isWellFormed() || sha256(texts.payload(salt, payload)) !== header.payload_sha256)
      return 'its payload is not the one that was recorded.'
    return undefined
  }

  function contentIn(runes: readonly ReadRune[]): BadEvent | undefined {
    for (const rune of runes) {
      const problem = payloadProblem(rune)
      if (problem !== undefined) return { event_id: rune.header.event_id, problem }
    }
    return undefined
  }

  /** The first event of a record whose mark has another hash. Only the end of a record can have a mark. */
  function rewrittenIn({ first, last, hash }: Read): number | undefined {
    for (let at = first; at <= last; at++)
      if (marked.get(at)?.some((mark) => at !== last || mark.hash !== hash)) return at
    return undefined
  }

  /** The first move that the declarations or the record before it refuse. */
  function moveIn(record: StoredRecord, given: Read): BadEvent | undefined {
    for (const { header } of given.runes) {
      const problem = moveProblem(header)
      if (problem !== undefined) return illegalMove(header.event_id, problem)
    }
    if (readAgain === undefined) return undefined
    const readable = runesOf(record, given)
    if ('problem' in readable) return readable
    for (const rune of readable) {
      const problem = readAgain(rune)
      if (problem !== undefined) return illegalMove(rune.event_id, problem)
    }
    return undefined
  }

  function redactionProblem({ payload, header }: ReadRune) {
    const recorded_at = header.event_id
    const vouched = readRedaction(payload)
    if (vouched === undefined) return { event_id: recorded_at, problem: 'it does not say what was redacted.' }
    const { event_id, reason, remains_sha256, blobs, redacted_by, public_key, signature } = vouched
    const bad = (problem: string) => ({ event_id, problem })
    const erasure = erased.get(event_id)
    if (erasure === undefined) return bad('it was redacted, yet its payload is there.')
    if (!erasure.isLeast) return bad(changedRemains)
    if (erasure.remains_sha256 !== remains_sha256) return bad('what its redaction left was changed afterwards.')
    if (format !== 1) {
      const by = `the redaction in event ${recorded_at}`
      if (redacted_by === null || public_key === null || signature === null) return bad(`${by} is not signed.`)
      if (trusted?.length === 0)
        return bad(`${by} was signed with the key ${public_key}, and no key of this store is here to compare it with.`)
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

const signed = 'its hash is not the one that was signed; this event, or one before it, was rewritten.'

const illegalMove = (event_id: number, problem: string) => ({
  event_id,
  problem: problem.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase()),
})

/** The runes of a record, or the first one with a payload that cannot be read. */
function runesOf(record: StoredRecord, { first, runes, inTheMaking }: Read): readonly Rune[] | BadEvent {
  try {
    return toRunes(record, '', inTheMaking)
  } catch {
    const bad = runes.find(({ payload }) => !isJson(payload))
    const problem = bad?.salt === '' ? changedRemains : 'its payload has another shape than its kind.'
    return { event_id: bad?.header.event_id ?? first, problem }
  }
}

const changedRemains = 'its payload was erased, and its remains are not what a redaction leaves.'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
