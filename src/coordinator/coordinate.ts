import { machineDigest } from '../kernel/digest.ts'
import { isTerminal } from '../kernel/machine.ts'
import { type CoordinationState, coordinationMachine } from '../machines/coordination.ts'
import { checksumOf, textAt } from './checksum.ts'
import { advance, arrive, begin } from './engine.ts'
import { lineageOf } from './outputs/lineage.ts'
import {
  type AnswerRound,
  type Artifacts,
  type CoordinationInput,
  coordinatorVersion,
  type Ports,
  type Progress,
  type Refused,
} from './progress.ts'
import type { FailurePack } from './schemas/plan.ts'
import type { QuestionPack } from './schemas/questions.ts'
import {
  type AuditEntry,
  type Lineage,
  type Recovers,
  type RunTape,
  recovers,
  type TapeEntry,
} from './schemas/record.ts'

/** A coordination as its caller sees it. */
export interface Coordination {
  /** The hash of the whole input. */
  readonly run_id: string
  /** The current state. */
  readonly state: CoordinationState
  /** All artifacts so far. */
  readonly artifacts: Artifacts
  /** Every move, with its guards. */
  readonly tape: RunTape
  /** The audit log: the significant decisions, with their rules. */
  readonly audit: readonly AuditEntry[]
  /** The digest of each input and of each artifact. */
  readonly lineage: Lineage
  /** The open questions. Null: the coordination waits for nothing. */
  readonly waits_for: QuestionPack | null
  /** Answer packs that were refused. They changed nothing. */
  readonly refused_answers: readonly Refused[]
}

/** Turns an intent into a frozen plan, or into the reason why there is none. Pure: same input, same bytes. */
export function coordinate(input: CoordinationInput, answers: readonly AnswerRound[], ports: Ports): Coordination {
  return coordinationOf(advance(arrive(begin(input, ports), answers, ports), ports), ports)
}

/** A coordination, under way or ended, as its caller sees it. */
export function coordinationOf(progress: Progress, ports: Ports): Coordination {
  const { run_id, state, artifacts, audit, ledger } = progress
  return {
    run_id,
    state,
    artifacts,
    tape: tapeOf(progress, ports),
    audit,
    lineage: artifacts.lineage ?? lineageOf(progress, ports),
    waits_for: state === 'AWAITING_ANSWERS' ? (artifacts.question_pack.at(-1) ?? null) : null,
    refused_answers: ledger.refused,
  }
}

/** The `recovers` of a new coordination that replaces this one. Null while this one has not ended. */
export function recoveryOf(
  { run_id, state, tape }: Pick<Coordination, 'run_id' | 'state' | 'tape'>,
  { sha256 }: Pick<Ports, 'sha256'>,
): Recovers | null {
  const final_state = recovers.shape.final_state.safeParse(state).data
  return final_state === undefined ? null : { run_id, final_state, tape_checksum: checksumOf(tape, sha256) }
}

function tapeOf(progress: Progress, { sha256 }: Ports): RunTape {
  const { run_id, input, state, entries, decisions, evaluations, artifacts } = progress
  const failure = artifacts.failure_pack
  const digest = machineDigest(coordinationMachine, sha256)
  return {
    run_id,
    schema_version: '0.9.2',
    intent_id: textAt(input.intent, 'id') ?? null,
    coordinator_version: coordinatorVersion,
    machine: { name: 'coordination', version: coordinationMachine.version, digest },
    state,
    is_closed: isTerminal(coordinationMachine, state),
    entries: [...entries],
    decisions: [...decisions],
    rule_evaluations: [...evaluations],
    failure_info: failure === undefined ? null : failureInfo(failure),
  }
}

function failureInfo({ failure_type, cause, message, failed_at_state }: FailurePack): RunTape['failure_info'] {
  return { failure_type, cause, failure_message: message, failed_at_state: failed_at_state as RunTape['state'] }
}

type TimedEntry = TapeEntry & { readonly at: number; readonly duration_ms: number }

/** How long a state lasted. Not negative, also when the clock was set back. */
export function lasted(entered: number, left: number): number {
  return left > entered ? left - entered : 0
}

/** Joins the tape with the instants at which its entries were recorded, which the runelog or a journal keeps. */
export function timedTape(entries: readonly TapeEntry[], recorded: readonly number[]): readonly TimedEntry[] {
  if (recorded.length !== entries.length)
    throw new RangeError(`The tape has ${entries.length} entries and there are ${recorded.length} times for them.`)
  return entries.map((entry, i) => {
    const at = recorded[i] ?? 0
    return { ...entry, at, duration_ms: lasted(recorded[i - 1] ?? at, at) }
  })
}
