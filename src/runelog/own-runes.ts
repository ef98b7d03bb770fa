import { faults } from '../faults/catalogue.ts'
import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'
import { hashedTexts } from '../runes/chain.ts'
import { blobsIn, erasedPayload } from '../runes/erased-payload.ts'
import type { Kind } from '../runes/kinds.ts'
import type { StoredRecord } from '../runes/record.ts'
import { signRedaction } from '../runes/redaction.ts'
import type { Draft } from '../runes/rune.ts'
import { whatRestsOn } from './in-use.ts'
import type { ArchivedBy, Head, RedactedBy } from './port.ts'
import type { Ports } from './ports.ts'

/** The runes that a store writes of its own accord: what it did to a log is itself on the log. */

export interface Redaction {
  /** The record as it was. */
  readonly original: StoredRecord
  readonly rune: Draft<'rune.redacted'>
  /** What is stored in place of the payload. The salt goes. */
  readonly payload: string
  /** What the payload referred to is erased with it, whatever else refers to the same content. */
  readonly blobs: readonly string[]
}

/** Refused while unfinished work rests on the content. `records` are all that the session has. */
export function redaction(
  records: readonly StoredRecord[],
  asked: { readonly session_id: string; readonly event_id: number; readonly reason: string },
  { actor = 'human', principal = actor, request_id }: RedactedBy,
  { now, sha256, signer }: Ports,
): Redaction {
  const { session_id, event_id, reason } = asked
  const record = records[event_id - 1]
  if (record === undefined) throw faults.not_found({ what: 'event', id: `${event_id} of ${session_id}` })
  const refuse = (problem: string) => faults.not_redactable({ session_id, event_id, problem })
  if (record.salt === null) throw refuse('it is redacted already.')
  const { kind } = JSON.parse(record.header) as { kind: Kind }
  if (kind === 'rune.redacted' || kind === 'session.archived')
    throw refuse(`a ${kind} vouches for what was done to the log, and holds no content of its own.`)
  const inUse = whatRestsOn(records, event_id)
  if (inUse !== undefined) throw faults.content_in_use({ session_id, event_id, ...inUse })

  const content = JSON.parse(record.payload) as Readonly<Record<string, Json>>
  const payload = canonicalJson(erasedPayload(kind, content))
  const blobs = blobsIn(content)
  const at = now()
  const remains_sha256 = sha256(hashedTexts.remains(payload))
  const { hash } = record
  const statement = { session_id, event_id, hash, remains_sha256, blobs, reason, redacted_by: principal, at }
  const signed = signRedaction(statement, signer())
  const requested = request_id === undefined ? {} : { request_id }
  const rune = { kind: 'rune.redacted', at, actor, payload: signed, ...requested } as const
  return { original: record, payload, blobs, rune }
}

export function archival(
  head: Head | undefined,
  { session_id, ...segment }: { readonly session_id: string; readonly segment: string; readonly sha256: string },
  { actor = 'human', request_id }: ArchivedBy,
  at: number,
): Draft<'session.archived'> {
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  return {
    kind: 'session.archived',
    at,
    actor,
    ...(request_id !== undefined && { request_id }),
    machine: 'session',
    subject_id: session_id,
    from: 'closed',
    to: 'archived',
    trigger: 'archive_requested',
    payload: { ...segment, runes: head.event_id },
  }
}
