import { statementText } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { isHex, type Signer } from './checkpoint.ts'
import type { Payload } from './kinds.ts'
import { isText } from './read-header.ts'

/** The statement of a redaction, in addition to the reason: the erased event, its remains, and the principal. */
interface RedactionStatement {
  readonly session_id: string
  readonly event_id: number
  /** The hash of the erased event: the statement holds for that event and for no other one. */
  readonly hash: string
  readonly remains_sha256: string
  /** Outputs that are erased with it. */
  readonly blobs: readonly string[]
  readonly reason: string
  readonly redacted_by: string
  readonly at: number
}

type Signed = Payload<'rune.redacted'>

/** The payload of a `rune.redacted`. The store's key signs it, so SQL alone cannot forge one. */
export function signRedaction(statement: RedactionStatement, { public_key, sign }: Signer): Signed {
  const { event_id, reason, remains_sha256, blobs, redacted_by } = statement
  const signature = sign(redactionText(statement, public_key))
  return { event_id, reason, remains_sha256, blobs, redacted_by, public_key, signature }
}

/** The text of a redaction that is signed. */
export function redactionText(statement: RedactionStatement, public_key: string): string {
  const { session_id, event_id, hash, remains_sha256, reason, redacted_by, at } = statement
  const blobs = [...statement.blobs]
  const about = { session_id, event_id, hash, remains_sha256, blobs, reason }
  return statementText('redaction', { ...about, redacted_by, at, public_key })
}

/** Reads the payload of a `rune.redacted`; undefined if it is none. Logs of 0.1 have neither principal nor signature. */
export function readRedaction(payload: string): Signed | undefined {
  const value = parseObject(payload)
  if (value === undefined) return undefined
  const { event_id, reason, remains_sha256, blobs = [] } = value
  const { redacted_by = null, public_key = null, signature = null } = value
  if (!Number.isSafeInteger(event_id) || !isText(reason) || !isHex(remains_sha256, 64)) return undefined
  if (!Array.isArray(blobs) || !blobs.every(isText)) return undefined
  if (redacted_by !== null && !isText(redacted_by)) return undefined
  if (public_key !== null && !isHex(public_key, 64)) return undefined
  if (signature !== null && !isHex(signature, 128)) return undefined
  return { event_id: event_id as number, reason, remains_sha256, blobs, redacted_by, public_key, signature }
}

/** The object that a text is; undefined if it is none. */
export function parseObject(text: string): Readonly<Record<string, Json>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, Json>>)
      : undefined
  } catch {
    return undefined
  }
}

/** The reference of a text that is kept outside the log, by the SHA-256 of its bytes in hex. */
export const blobRef = (sha256: string) => `blob_${sha256}`

/** Whether a text is a reference to a whole output or file. */
export const isBlobRef = (text: unknown) => typeof text === 'string' && /^blob_[0-9a-f]{64}$/.test(text)

/** References to whole outputs and files in a payload, as values of their own; a mention in a text is none. */
export function blobsIn(payload: Json): readonly string[] {
  if (typeof payload === 'string') return isBlobRef(payload) ? [payload] : []
  if (payload === null || typeof payload !== 'object') return []
  return [...new Set(Object.values(payload).flatMap(blobsIn))]
}
