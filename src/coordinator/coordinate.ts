import { checksumOf } from './checksum.ts'
import { advance, arrive, begin } from './engine.ts'
import { lineageOf } from './outputs/lineage.ts'
import type { AnswerRound, Artifacts, CoordinationInput, Ports, Progress, Refused } from './progress.ts'
import type { QuestionPack } from './schemas/questions.ts'
import { type AuditEntry, type Lineage, type Recovers, type RunTape, recovers } from './schemas/record.ts'
import { tapeOf } from './tape.ts'

/** A coordination as its caller sees it. */
export interface Coordination {
  readonly run_id: string
  readonly state: Progress['state']
  readonly artifacts: Artifacts
  readonly tape: RunTape
  readonly audit: readonly AuditEntry[]
  readonly lineage: Lineage
  /** What it waits for, if it does. */
  readonly waits_for: QuestionPack | null
  readonly refused_answers: readonly Refused[]
}

/**
 * From an intent to a judged and frozen plan, or to the reason why there is
 * none. A pure function: same input, same bytes. It plans; it never executes,
 * and nothing that executes can be reached from here.
 */
export function coordinate(input: CoordinationInput, answers: readonly AnswerRound[], ports: Ports): Coordination {
  return coordinationOf(advance(arrive(begin(input, ports), answers, ports), ports), ports)
}

/** What can be seen of a coordination under way. */
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

/** What a new coordination names to say that it takes the place of this one. Null while this one has not ended. */
export function recoveryOf(
  { run_id, state, tape }: Pick<Coordination, 'run_id' | 'state' | 'tape'>,
  { sha256 }: Pick<Ports, 'sha256'>,
): Recovers | null {
  const final_state = recovers.shape.final_state.safeParse(state).data
  return final_state === undefined ? null : { run_id, final_state, tape_checksum: checksumOf(tape, sha256) }
}
