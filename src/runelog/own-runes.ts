import { faults } from '../faults/catalogue.ts'
import { canonicalJson, type Json } from '../kernel/json.ts'
import { declaredState } from '../machines/all.ts'
import { erasedPayload } from '../runes/erasure.ts'
import type { Kind } from '../runes/kinds.ts'
import { firstEventOf, hashedTexts, linesOf, type StoredRecord, toRunes } from '../runes/record.ts'
import { blobsIn, signRedaction } from '../runes/redaction.ts'
import { concernNames, type Draft, type Rune } from '../runes/rune.ts'
import type { ArchivedBy, Head, Ports, RedactedBy } from './port.ts'
import { type Prepared, type Preparing, prepare } from './prepare.ts'

/** The event to redact, and the reason. */
export interface Asked {
  readonly session_id: string
  readonly event_id: number
  readonly reason: string
}

interface Redaction<R> {
  readonly original: Rune
  /** The record of the rune, with the payload replaced and its salt gone. */
  readonly replaced: R
  /** All records of the session, with that one replaced. */
  readonly erased: readonly R[]
  /** The rune that records and signs the redaction. */
  readonly batch: Prepared
  /** Blobs that the payload referred to. They are erased with it, even if other runes refer to them. */
  readonly blobs: readonly string[]
}

/** The redaction of a payload. Refused while unfinished work depends on it. `records` are all of the session. */
export function redaction<R extends StoredRecord>(
  records: readonly R[],
  asked: Asked,
  { actor = 'human', principal = actor, request_id }: RedactedBy,
  ports: Ports & Preparing,
): Redaction<R> {
  const { now, sha256, signer } = ports
  const { session_id, event_id, reason } = asked
  const record = recordOf(records, event_id)
  const original = record && runeAt(record, event_id)
  if (record === undefined || original === undefined)
    throw faults.not_found({ what: 'event', id: `${event_id} of ${session_id}` })
  const refuse = (problem: string) => faults.not_redactable({ session_id, event_id, problem })
  if (original.redacted) throw refuse('it is redacted already.')
  if (original.payload_sha256 === null) throw refuse('its payload is empty.')
  const { kind } = original
  if (kind === 'rune.redacted' || kind === 'session.archived')
    throw refuse(`a ${kind} vouches for what was done to the log, and holds no content of its own.`)
  const inUse = whatRestsOn(records, event_id)
  if (inUse !== undefined) throw faults.content_in_use({ session_id, event_id, ...inUse })

  const line = event_id - firstEventOf(record)
  const content = JSON.parse(linesOf(record.payload)[line] ?? '') as Readonly<Record<string, Json>>
  const payload = canonicalJson(erasedPayload(kind, content))
  const blobs = blobsIn(content)
  const at = now()
  const remains_sha256 = sha256(hashedTexts.remains(payload))
  const { hash } = record
  const statement = { session_id, event_id, hash, remains_sha256, blobs, reason, redacted_by: principal, at }
  const signed = signRedaction(statement, signer())
  const requested = request_id === undefined ? {} : { request_id }
  const rune = { kind: 'rune.redacted', at, actor, payload: signed, ...requested } as const
  const batch = prepare({ session_id, runes: [rune] }, ports, true)
  const withLine = (text: string, changed: string) => linesOf(text).with(line, changed).join('\n')
  const replaced = { ...record, payload: withLine(record.payload, payload), salt: withLine(record.salt, '') }
  const erased = records.map((each) => (each === record ? replaced : each))
  return { original, replaced, erased, batch, blobs }
}

/** The record with an event. */
const recordOf = <R extends StoredRecord>(records: readonly R[], event_id: number) =>
  event_id < 1 ? undefined : records.find((record) => record.event_id >= event_id)

const runeAt = (record: StoredRecord, event_id: number) =>
  toRunes(record, '').find((rune) => rune.event_id === event_id)

/** The rune of a session whose log was moved to a segment. */
export function archival(
  head: Head | undefined,
  { session_id, ...segment }: { readonly session_id: string; readonly segment: string; readonly sha256: string },
  { actor = 'human', request_id }: ArchivedBy,
  ports: Ports & Preparing,
): Prepared {
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const move = { machine: 'session', subject_id: session_id, from: 'closed', to: 'archived' } as const
  const requested = request_id === undefined ? {} : { request_id }
  const payload = { ...segment, runes: head.event_id }
  const about = { kind: 'session.archived', at: ports.now(), actor, ...requested } as const
  const rune: Draft<'session.archived'> = { ...about, ...move, trigger: 'archive_requested', payload }
  return prepare({ session_id, runes: [rune] }, ports, true)
}

/** Unfinished work that depends on the content of an event. */
interface InUse {
  readonly what: 'call' | 'run' | 'goal'
  readonly id: string
  /** The run that a call belongs to. */
  readonly run_id?: string
}

/** Kinds that an open call depends on: it is begun, repeated or decided by them. */
const ofCall: ReadonlySet<Kind> = new Set<Kind>([
  ...(['tool.call', 'contract.opened', 'contract.evidence_added'] as const),
  ...(['interaction.opened', 'interaction.answered'] as const),
])

/** Kinds with input of an agent. A run depends on them until the agent has answered. */
const ofRun: ReadonlySet<Kind> = new Set<Kind>(['run.submitted', 'run.briefed', 'run.requested', 'turn.started'])

/** Kinds that an open goal depends on. Its runs and calls have rules of their own. */
const ofGoal = /^(plan|goal|task|coordination|interaction)\./

const answers: ReadonlySet<Kind> = new Set<Kind>(['turn.tool_calls_received', 'turn.completed'])

/** Unfinished work that depends on the content of an event: without it, a call would begin with other arguments. */
function whatRestsOn(records: readonly StoredRecord[], event_id: number): InUse | undefined {
  const record = recordOf(records, event_id)
  const rune = record && runeAt(record, event_id)
  if (rune === undefined) return undefined
  const { kind, run_id, call_id, goal_id } = rune
  if (goal_id !== undefined && ofGoal.test(kind) && isOpen(about(records, goal_id), 'goal'))
    return { what: 'goal', id: goal_id }
  if (run_id === undefined || !(ofCall.has(kind) || ofRun.has(kind))) return undefined
  const ofThisRun = about(records, run_id)
  if (!isOpen(ofThisRun, 'run')) return undefined
  if (call_id !== undefined && ofCall.has(kind)) {
    const ofThisCall = ofThisRun.filter((each) => each.call_id === call_id)
    const isUsed = isOpen(ofThisCall, 'tool') || isOpen(ofThisCall, 'contract')
    return isUsed ? { what: 'call', id: call_id, run_id } : undefined
  }
  return ofRun.has(kind) && isUnanswered(ofThisRun, event_id) ? { what: 'run', id: run_id } : undefined
}

function about(records: readonly StoredRecord[], id: string): readonly Rune[] {
  const quoted = JSON.stringify(id)
  const isAbout = (rune: Rune) => rune.subject_id === id || concernNames.some((name) => rune[name] === id)
  return records.flatMap((record) => (record.header.includes(quoted) ? toRunes(record, '').filter(isAbout) : []))
}

/** Whether the last move of such a subject leaves it unfinished. False if there is none. */
function isOpen(some: readonly Rune[], machine: 'tool' | 'contract' | 'run' | 'goal'): boolean {
  const { to } = some.findLast((rune) => rune.machine === machine) ?? {}
  return to !== undefined && declaredState(machine, to)?.terminal !== true
}

/** Each input of a run opens a turn: first what was submitted, then each steer. It is used when an answer follows that. */
function isUnanswered(ofThisRun: readonly Rune[], event_id: number): boolean {
  const isSteer = (rune: Rune) => rune.kind === 'run.requested' && rune.payload.request === 'steer'
  const upToHere = ofThisRun.filter((rune) => rune.event_id <= event_id)
  const asked = upToHere.at(-1)
  if (asked === undefined || (asked.kind === 'run.requested' && !isSteer(asked))) return false
  const inputs = ofThisRun.filter((rune) => rune.kind === 'turn.started' && rune.payload.input !== null)
  const steers = asked.kind === 'run.requested' ? upToHere.filter(isSteer).length : 0
  const opened = asked.kind === 'turn.started' ? asked : inputs[steers]
  if (opened === undefined) return true
  return !ofThisRun.some((rune) => answers.has(rune.kind) && rune.event_id > opened.event_id)
}
