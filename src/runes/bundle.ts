import { statementText } from '../kernel/digest.ts'
import {
  type Checkpoint,
  checkpointProblem,
  firstSignedText,
  isHex,
  readCheckpoint,
  type Signer,
} from './checkpoint.ts'
import { isText } from './read-header.ts'
import type { StoredRecord } from './record.ts'
import {
  type BadEvent,
  createVerifier,
  type LogFormat,
  type Redacted,
  type Verifier,
  type VerifierPorts,
} from './verify.ts'

/**
 * A session in a file: a first line with its identity, one line per record with the stored bytes, and as the last line
 * a signed checkpoint with a signature of the whole. It is verified without its store.
 */
interface BundleHeader {
  readonly format: 'statewright-bundle'
  /** 1 was exported by 0.1. */
  readonly version: LogFormat
  readonly session_id: string
  /** The declarations under which the runes were written, by name. */
  readonly machines: Readonly<Record<string, string>>
}

/** The first line of a bundle, as a value. */
export function bundleHeader(session_id: string, machines: BundleHeader['machines']): BundleHeader {
  return { format: 'statewright-bundle', version: 2, session_id, machines }
}

/** Writes the header of a bundle as its line. */
export function headerLine({ format, version, session_id, machines }: BundleHeader): string {
  return JSON.stringify({ format, version, session_id, machines })
}

/** Writes a record as a line of a bundle. */
export function recordLine({ event_id, header, payload, salt, hash }: StoredRecord): string {
  return JSON.stringify({ event_id, header, payload, salt, hash })
}

/** Writes a checkpoint as a line of a bundle. */
export function checkpointLine(checkpoint: Checkpoint): string {
  return JSON.stringify({ checkpoint })
}

/** The checkpoint in a line that `checkpointLine` wrote. Undefined: the line is another one. */
export function checkpointOf(line: string): Checkpoint | undefined {
  try {
    return readCheckpoint(Object(JSON.parse(line)).checkpoint)
  } catch {
    return undefined
  }
}

/** The last line: the checkpoint, and a signature that covers it and the first line. */
export function lastLine(header: BundleHeader, checkpoint: Checkpoint, { sign }: Signer): string {
  return JSON.stringify({ checkpoint, signature: sign(bundleText(header, checkpoint)) })
}

function bundleText(header: BundleHeader, checkpoint: Checkpoint): string {
  return statementText('bundle', { header: { ...header }, checkpoint: { ...checkpoint } })
}

/** The result of the check of a bundle. */
export interface BundleVerdict {
  readonly session_id: string | undefined
  /** Under 1, neither redactions nor the list of machines are signed. */
  readonly format: LogFormat
  readonly events: number
  readonly checkpoint: Checkpoint | undefined
  readonly redactions: readonly Redacted[]
  /** Undefined: the bundle is as it was signed. */
  readonly bad: BadEvent | undefined
}

/** Checks the lines of a bundle one after another. Any text may come: damage is reported, and nothing is thrown. */
export function createBundleVerifier(ports: Omit<VerifierPorts, 'format'>) {
  const { check, trusted } = ports
  let verifier: Verifier | undefined
  let header: BundleHeader | undefined
  let checkpoint: Checkpoint | undefined
  let bad: BadEvent | undefined

  function take(line: string): void {
    if (bad !== undefined) return
    const problem = verifier === undefined ? begin(line) : goOn(line, verifier)
    if (problem !== undefined) bad = typeof problem === 'string' ? { event_id: next(), problem } : problem
  }

  const next = () => (verifier === undefined ? 0 : verifier.head().event_id + 1)

  function begin(line: string): string | undefined {
    const read = readHeader(line)
    if (read === undefined) return 'the file does not begin like a bundle of version 1 or 2.'
    header = read
    verifier = createVerifier(read.session_id, { ...ports, format: read.version })
    return undefined
  }

  function goOn(line: string, { take }: Verifier): string | BadEvent | undefined {
    const value = parse(line)
    if (value === undefined) return 'its line is not JSON.'
    if (checkpoint !== undefined) return 'it comes after the checkpoint, which ends a bundle.'
    if ('checkpoint' in value) return finish(line, value)
    const event_id = next()
    const problem = take(value)
    if (problem !== undefined) return problem
    return line === recordLine(value as RecordLike) ? undefined : { event_id, problem: misspelled }
  }

  function finish(line: string, value: Readonly<Record<string, unknown>>): string | BadEvent | undefined {
    const { signature } = value
    const read = readCheckpoint(value.checkpoint)
    const isList = typeof signature === 'object' && signature !== null
    if (read === undefined || header === undefined || isList) return 'the checkpoint in its place cannot be read.'
    const isFirst = header.version === 1
    const written = isFirst ? checkpointLine(read) : JSON.stringify({ checkpoint: read, signature })
    if (line !== written) return `the checkpoint in its place: ${misspelled}`
    const bad = (problem: string) => ({ event_id: read.event_id, problem: `its checkpoint does not count. ${problem}` })
    const problem = checkpointProblem(read, check, trusted, isFirst ? firstSignedText : undefined)
    if (problem !== undefined) return bad(problem)
    const { public_key } = read
    if (!isFirst && !(isHex(signature, 128) && check({ text: bundleText(header, read), public_key, signature })))
      return bad('The signature of the bundle does not fit its first line: session, version or machines were changed.')
    checkpoint = read
    return undefined
  }

  function end(): BundleVerdict {
    const events = verifier?.head().event_id ?? 0
    const redactions = verifier?.redactions() ?? []
    bad ??= verifier === undefined ? { event_id: 0, problem: 'the file is empty.' } : (verifier.end() ?? signed(events))
    bad ??= strangers(redactions)
    return { session_id: header?.session_id, format: header?.version ?? 2, events, checkpoint, redactions, bad }
  }

  function signed(events: number): BadEvent | undefined {
    if (checkpoint === undefined) return { event_id: events + 1, problem: 'the bundle ends without its checkpoint.' }
    if (checkpoint.session_id !== header?.session_id)
      return { event_id: 1, problem: `the checkpoint is one of session ${checkpoint.session_id}.` }
    if (checkpoint.event_id > events)
      return { event_id: events + 1, problem: `it is missing; ${checkpoint.event_id} events were signed.` }
    if (checkpoint.event_id < events)
      return { event_id: checkpoint.event_id + 1, problem: `it was added; ${checkpoint.event_id} events were signed.` }
    if (checkpoint.hash !== verifier?.head().hash)
      return {
        event_id: events,
        problem: 'its hash is not the one that was signed; this event, or one before it, was rewritten.',
      }
    return undefined
  }

  /** Without trusted keys, redactions count if they are signed with the key of the bundle. */
  function strangers(redactions: readonly Redacted[]): BadEvent | undefined {
    if (trusted !== undefined || header?.version === 1) return undefined
    const stranger = redactions.find(({ public_key }) => public_key !== checkpoint?.public_key)
    if (stranger === undefined) return undefined
    const { event_id, recorded_at, public_key } = stranger
    const by = `the redaction in event ${recorded_at} was signed with the key ${public_key}`
    return { event_id, problem: `${by}, and the bundle with ${checkpoint?.public_key}. Trust both with --key.` }
  }

  return { take, end }
}

const misspelled = 'its line is not written as an export writes it.'

/** A record that the verifier accepted: its fields have these types. */
type RecordLike = StoredRecord & Readonly<Record<string, unknown>>

function readHeader(line: string): BundleHeader | undefined {
  const { format, version, session_id, machines } = parse(line) ?? {}
  if (format !== 'statewright-bundle' || (version !== 1 && version !== 2)) return undefined
  if (!isText(session_id) || typeof machines !== 'object' || machines === null || Array.isArray(machines))
    return undefined
  if (!Object.entries(machines).flat().every(isText)) return undefined
  const header: BundleHeader = { format, version, session_id, machines: machines as BundleHeader['machines'] }
  return line === headerLine(header) && line.isWellFormed() ? header : undefined
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
