import { statementText } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { isHex, type Signer } from './checkpoint.ts'
import { erasedPayload } from './erased-payload.ts'
import { isKind, type Payload, payloadProblem } from './kinds.ts'
import { schemaVersion } from './record.ts'

/** What a redaction states, besides the reason: which event it erased, what it left of it, and who asked. */
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

/** What was parsed as the payload of a `rune.redacted`; undefined if it is none. 0.1 neither named nor signed. */
export function readRedaction(payload: string): Signed | undefined {
  const value = parseObject(payload)
  if (value === undefined) return undefined
  const { event_id, reason, remains_sha256, blobs = [] } = value
  const { redacted_by = null, public_key = null, signature = null } = value
  if (!Number.isSafeInteger(event_id) || typeof reason !== 'string' || !isHex(remains_sha256, 64)) return undefined
  if (!Array.isArray(blobs) || !blobs.every((ref) => typeof ref === 'string')) return undefined
  if (redacted_by !== null && typeof redacted_by !== 'string') return undefined
  if (public_key !== null && !isHex(public_key, 64)) return undefined
  if (signature !== null && !isHex(signature, 128)) return undefined
  return { event_id: event_id as number, reason, remains_sha256, blobs, redacted_by, public_key, signature }
}

/** Whether a payload is no more than a redaction leaves: markers, and the fields that a fold needs. */
export function isErased(kind: string, schema_version: number, payload: string): boolean {
  const value = parseObject(payload)
  if (value === undefined || !isKind(kind)) return false
  // What an earlier shape of the kind left cannot be told from here; the signature of the redaction covers it.
  if (schema_version !== schemaVersion(kind)) return true
  if (payloadProblem(kind, value) !== undefined) return false
  const least = erasedPayload(kind, value)
  return Object.keys(value).every((name) => JSON.stringify(least[name]) === JSON.stringify(value[name]))
}

function parseObject(text: string): Readonly<Record<string, Json>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, Json>>)
      : undefined
  } catch {
    return undefined
  }
}
