import { machineDigest } from '../kernel/digest.ts'
import { isTerminal } from '../kernel/machine.ts'
import { coordinationMachine } from '../machines/coordination.ts'
import { isRecord } from './checksum.ts'
import { coordinatorVersion, type Ports, type Progress } from './progress.ts'
import type { RunTape, TapeEntry } from './schemas/record.ts'

/** The tape of a coordination so far. */
export function tapeOf(
  { run_id, input, state, entries, decisions, evaluations, artifacts }: Progress,
  { sha256 }: Ports,
): RunTape {
  const id = isRecord(input.intent) ? input.intent.id : undefined
  const failure = artifacts.failure_pack
  return {
    run_id,
    schema_version: '0.9.2',
    intent_id: typeof id === 'string' ? id : null,
    coordinator_version: coordinatorVersion,
    machine: {
      name: 'coordination',
      version: coordinationMachine.version,
      digest: machineDigest(coordinationMachine, sha256),
    },
    state,
    is_closed: isTerminal(coordinationMachine, state),
    entries: [...entries],
    decisions: [...decisions],
    rule_evaluations: [...evaluations],
    failure_info:
      failure === undefined
        ? null
        : {
            failure_type: failure.failure_type,
            cause: failure.cause,
            failure_message: failure.message,
            failed_at_state: failure.failed_at_state as RunTape['state'],
          },
  }
}

interface TimedEntry extends TapeEntry {
  readonly at: number
  readonly duration_ms: number
}

/** How long a state lasted that was entered and left at these instants. A clock that was set back makes no time negative. */
export function lasted(entered: number, left: number): number {
  return left > entered ? left - entered : 0
}

/** Joins the tape with the instants at which its entries were recorded. The times live beside it, in the runelog or a journal. */
export function timedTape(entries: readonly TapeEntry[], recorded: readonly number[]): readonly TimedEntry[] {
  if (recorded.length !== entries.length)
    throw new RangeError(`The tape has ${entries.length} entries and there are ${recorded.length} times for them.`)
  return entries.map((entry, i) => {
    const at = recorded[i] ?? 0
    return { ...entry, at, duration_ms: lasted(recorded[i - 1] ?? at, at) }
  })
}
