import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Mark } from './verify.ts'

/**
 * A signed statement that a session's log had this hash at this event. Kept
 * where the writer of the log cannot reach it, it turns a rewritten past into
 * one that can be proved.
 */
export interface Checkpoint extends Mark {
  readonly session_id: string
  /** When it was signed. */
  readonly at: number
  /** Of the signer: an Ed25519 key, 32 bytes in hex. */
  readonly public_key: string
  readonly signature: string
}

export type Unsigned = Omit<Checkpoint, 'public_key' | 'signature'>

export interface Signer {
  readonly public_key: string
  readonly sign: (text: string) => string
}

export type CheckSignature = (signed: {
  readonly text: string
  readonly public_key: string
  readonly signature: string
}) => boolean

export function signCheckpoint(statement: Unsigned, { public_key, sign }: Signer): Checkpoint {
  return { ...statement, public_key, signature: sign(signedText({ ...statement, public_key })) }
}

/** What is wrong with a checkpoint as such; whether a log agrees with it is another question. */
export function checkpointProblem(
  checkpoint: Checkpoint,
  check: CheckSignature,
  trusted: string | undefined,
): string | undefined {
  const { signature, public_key } = checkpoint
  if (trusted !== undefined && public_key !== trusted)
    return `It was signed with the key ${public_key}, not with ${trusted}.`
  if (!check({ text: signedText(checkpoint), public_key, signature })) return 'Its signature does not fit what it says.'
  return undefined
}

function signedText({ session_id, event_id, hash, at, public_key }: Omit<Checkpoint, 'signature'>): string {
  return canonicalJson({ session_id, event_id, hash, at, public_key })
}
