import type { Sha256 } from '../kernel/digest.ts'
import { type Checkpoint, type CheckSignature, checkpointProblem } from './checkpoint.ts'
import type { StoredRecord } from './record.ts'
import { type BadEvent, createVerifier, type Verifier } from './verify.ts'

/**
 * A session in a file: a first line that says what it is, one line per record
 * with the stored bytes as they are, and a signed checkpoint as the last line.
 * It is verified without the store it came from.
 */
export interface BundleHeader {
  readonly format: 'statewright-bundle'
  readonly version: 1
  readonly session_id: string
  /** The declarations under which the runes were written, by name. */
  readonly machines: Readonly<Record<string, string>>
}

export function bundleHeader(session_id: string, machines: BundleHeader['machines']): BundleHeader {
  return { format: 'statewright-bundle', version: 1, session_id, machines }
}

export function recordLine({ event_id, header, payload, salt, hash }: StoredRecord): string {
  return JSON.stringify({ event_id, header, payload, salt, hash })
}

export function checkpointLine(checkpoint: Checkpoint): string {
  return JSON.stringify({ checkpoint })
}

export interface BundleVerdict {
  readonly session_id: string | undefined
  readonly events: number
  readonly checkpoint: Checkpoint | undefined
  /** Undefined: the bundle is what was signed. */
  readonly bad: BadEvent | undefined
}

/** Takes the lines of a bundle one after another. */
export function createBundleVerifier(ports: {
  readonly sha256: Sha256
  readonly check: CheckSignature
  /** The only key whose signature counts; without it any key does, and the reader has to look at which. */
  readonly trusted: string | undefined
}) {
  let verifier: Verifier | undefined
  let session_id: string | undefined
  let checkpoint: Checkpoint | undefined
  let bad: BadEvent | undefined

  function take(line: string): void {
    if (bad !== undefined) return
    const next = (verifier?.head().event_id ?? 0) + 1
    const value = parse(line)
    if (value === undefined) bad = { event_id: next, problem: 'its line is not JSON.' }
    else if (verifier === undefined) begin(value as unknown as BundleHeader)
    else if (checkpoint !== undefined)
      bad = { event_id: next, problem: 'it stands after the checkpoint, which ends a bundle.' }
    else if ('checkpoint' in value) checkpoint = value.checkpoint as Checkpoint
    else bad = verifier.take(value as unknown as StoredRecord)
  }

  function begin(header: BundleHeader): void {
    if (header.format !== 'statewright-bundle' || header.version !== 1)
      bad = { event_id: 0, problem: 'the file does not begin like a bundle of version 1.' }
    session_id = header.session_id
    verifier = createVerifier(header.session_id, ports.sha256)
  }

  function end(): BundleVerdict {
    const events = verifier?.head().event_id ?? 0
    bad ??= verifier === undefined ? { event_id: 0, problem: 'the file is empty.' } : (verifier.end() ?? signed(events))
    return { session_id, events, checkpoint, bad }
  }

  function signed(events: number): BadEvent | undefined {
    if (checkpoint === undefined) return { event_id: events + 1, problem: 'the bundle ends without its checkpoint.' }
    const problem = checkpointProblem(checkpoint, ports.check, ports.trusted)
    if (problem !== undefined)
      return { event_id: checkpoint.event_id, problem: `its checkpoint does not count. ${problem}` }
    if (checkpoint.session_id !== session_id)
      return { event_id: 1, problem: `the checkpoint is one of session ${checkpoint.session_id}.` }
    if (checkpoint.event_id > events)
      return { event_id: events + 1, problem: `it is missing; ${checkpoint.event_id} events were signed.` }
    if (checkpoint.event_id < events)
      return { event_id: checkpoint.event_id + 1, problem: `it was added; ${checkpoint.event_id} events were signed.` }
    if (checkpoint.hash !== verifier?.head().hash)
      return {
        event_id: events,
        problem: 'its hash is not the one that was signed; it, or one before it, was written anew.',
      }
    return undefined
  }

  return { take, end }
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
