import { partsText, type Sha256 } from '../kernel/digest.ts'
import type { Reading } from '../kernel/machine.ts'
import type { Kind } from './kinds.ts'
import { type Concerns, concernNames, type Header, type RecordedMove } from './rune.ts'

/** What stands before the first rune of every session. */
export const genesis = '0'.repeat(64)

/** The part of a rune that the chain covers: all but the payload, which is covered by its digest, and the links. */
export type ChainedHeader = Omit<Header, 'prev_hash' | 'hash' | 'redacted'> &
  Concerns &
  Partial<RecordedMove> & { readonly kind: Kind }

/** Every name a header may have, in canonical order. */
export const headerNames = [
  ...['event_id', 'rune_id', 'session_id', 'kind', 'visibility', 'at', 'actor', 'actor_category'],
  ...concernNames,
  ...['machine', 'subject_id', 'from', 'to', 'trigger', 'guards', 'payload_sha256', 'schema_version'],
].sort() as readonly (keyof ChainedHeader)[]

/** What comes before a value: an actor comes first, and no header is without. */
const before = headerNames.map((name, i) => `${i === 0 ? '{' : ','}"${name}":`)
const beforeText = before.map((label) => `${label}"`)

/**
 * The canonical JSON of a header. Its names are known, and its strings are ids and declared names, in which nothing
 * needs escaping. Only the readings of guards are nested. A test compares it with `canonicalJson`.
 */
export function headerText(header: ChainedHeader): string {
  let text = ''
  for (let i = 0; i < headerNames.length; i++) {
    const value = header[headerNames[i] as keyof ChainedHeader]
    if (value === undefined) continue
    if (typeof value === 'string') text += `${beforeText[i]}${value}"`
    else text += `${before[i]}${typeof value === 'object' && value !== null ? readingsText(value) : value}`
  }
  return `${text}}`
}

function readingsText(readings: readonly Reading[]): string {
  return JSON.stringify(readings.map(({ because, guard, holds }) => ({ because, guard, holds })))
}

/** What is hashed for a record, in one format of the log. The hash itself is taken elsewhere: a browser takes it later. */
interface HashedTexts {
  readonly payload: (salt: string, payload: string) => string
  readonly rune: (prev_hash: string, header: string) => string
  /** What a redaction left of a payload. */
  readonly remains: (payload: string) => string
}

/** A payload is hashed with a salt, so that after erasure its text cannot be guessed from the digest. */
export const hashedTexts: HashedTexts = {
  payload: (salt, payload) => partsText('payload', [salt, payload]),
  rune: (prev_hash, header) => partsText('rune', [prev_hash, header]),
  remains: (payload) => partsText('remains', [payload]),
}

/** The format of 0.1, for bundles that were exported from it. It joined parts without their lengths. */
export const firstHashedTexts: HashedTexts = {
  payload: (salt, payload) => salt + payload,
  rune: (prev_hash, header) => prev_hash + header,
  remains: (payload) => payload,
}

const saltPattern = /^[0-9a-f]{32}$/

/** Every salt has this form, in every format. Where parts have no lengths, only this keeps salt and payload apart. */
export function isSalt(salt: string): boolean {
  return saltPattern.test(salt)
}

/** The digest of a payload with its salt, as the header holds it. */
export function payloadDigest(salt: string, payload: string, sha256: Sha256): string {
  return sha256(hashedTexts.payload(salt, payload))
}

/** The hash of a rune: its header, chained to the hash before it. */
export function link(prev_hash: string, header: string, sha256: Sha256): string {
  return sha256(hashedTexts.rune(prev_hash, header))
}
