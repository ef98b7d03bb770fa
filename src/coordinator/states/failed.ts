import type { CoordinationState } from '../../machines/coordination.ts'
import { idOf, isRecord } from '../checksum.ts'
import { type Failure, failureCauses } from '../failures.ts'
import type { Ports, Progress } from '../progress.ts'
import type { FailurePack } from '../schemas/failure-pack.ts'

/** Closes a coordination that a constraint stopped: whoever mends it may submit it anew. */
export function blocked(progress: Progress, failure: Failure, ports: Ports): FailurePack {
  return failurePackOf(progress, failure, 'BLOCKED', ports)
}

/** Closes a coordination that crossed a line: a person has to look before anything follows. */
export function aborted(progress: Progress, failure: Failure, ports: Ports): FailurePack {
  return failurePackOf(progress, failure, 'ABORTED', ports)
}

function failurePackOf(
  { run_id, input, state }: { run_id: string; input: Progress['input']; state: CoordinationState },
  { cause, message, problems }: Failure,
  outcome: FailurePack['outcome'],
  { sha256 }: Ports,
): FailurePack {
  const id = isRecord(input.intent) ? input.intent.id : undefined
  const { type, suggestions } = failureCauses[cause]
  return {
    failure_id: idOf('failure', [run_id, state, cause, problems], sha256),
    schema_version: '2.0.0',
    coordinator_run_id: run_id,
    intent_id: typeof id === 'string' ? id : null,
    outcome,
    failure_type: type,
    cause,
    message,
    failed_at_state: state,
    problems: [...problems],
    recovery_suggestions: [...suggestions],
    needs_person: outcome === 'ABORTED',
  }
}
