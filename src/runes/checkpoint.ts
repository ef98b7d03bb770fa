import { statementText } from '../kernel/digest.ts'
import { canonicalJson } from '../kernel/json.ts'
import { isText } from './read-header.ts'
import type { Mark } from './record.ts'

/**
 * A signed statement that a session's log had this hash at this event. Stored out of reach of the log's writer, it
 * proves that the log was rewritten.
 */
export interface Checkpoint extends Mark {
  readonly session_id: string
  /** When it was signed. */
  readonly at: number
  /** Of the signer: an Ed25519 key, 32 bytes in hex. */
  readonly public_key: string
  readonly signature: string
}

type Unsigned = Omit<Checkpoint, 'public_key' | 'signature'>

/** Signs with the key of the store. */
export interface Signer {
  readonly public_key: string
  readonly sign: (text: string) => string
}

/** Checks a signature; any malformed input is false. */
export type CheckSignature = (signed: {
  readonly text: string
  readonly public_key: string
  readonly signature: string
}) => boolean

/** Signs the end of a log. */
export function signCheckpoint(statement: Unsigned, { public_key, sign }: Signer): Checkpoint {
  return { ...statement, public_key, signature: sign(signedText({ ...statement, public_key })) }
}

/** Reads a parsed value as a checkpoint. Undefined if it is not one in its only written form. */
export function readCheckpoint(value: unknown): Checkpoint | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { session_id, event_id, hash, at, public_key, signature } = value as Record<string, unknown>
  if (!isText(session_id) || !isCount(event_id) || !isCount(at)) return undefined
  if (!isHex(hash, 64) || !isHex(public_key, 64) || !isHex(signature, 128)) return undefined
  return { session_id, event_id, hash, at, public_key, signature }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Accepts only lower-case hex: with a second spelling, a byte could change without being noticed. */
export function isHex(value: unknown, digits: number): value is string {
  return typeof value === 'string' && value.length === digits && /^[0-9a-f]*$/.test(value)
}

/** The reason why the key or the signature of a checkpoint is refused. It is not compared with a log here. */
export function checkpointProblem(
  checkpoint: Checkpoint,
  check: CheckSignature,
  trusted: readonly string[] | undefined,
  textOf: typeof signedText = signedText,
): string | undefined {
  const { signature, public_key } = checkpoint
  if (trusted !== undefined && !trusted.includes(public_key))
    return `It was signed with the key ${public_key}, not with ${trusted.join(' or ')}.`
  if (!check({ text: textOf(checkpoint), public_key, signature })) return 'Its signature does not fit what it says.'
  return undefined
}

function signedText({ session_id, event_id, hash, at, public_key }: Omit<Checkpoint, 'signature'>): string {
  return statementText('checkpoint', { session_id, event_id, hash, at, public_key })
}

/** The text that 0.1 signed: the statement without its purpose. */
export function firstSignedText({ session_id, event_id, hash, at, public_key }: Omit<Checkpoint, 'signature'>): string {
  return canonicalJson({ session_id, event_id, hash, at, public_key })
}
