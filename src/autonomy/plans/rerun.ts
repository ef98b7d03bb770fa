import { arrive, begin, isAtRest, step } from '../../coordinator/engine.ts'
import type { Ports, Progress } from '../../coordinator/progress.ts'
import type { TapeEntry } from '../../coordinator/schemas/record.ts'
import { faults } from '../../faults/catalogue.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { erased } from '../../runes/erased-payload.ts'
import type { Rune } from '../../runes/rune.ts'
import { inputOf, type Recorded } from './recorded.ts'

/**
 * Where a coordination stands: the Coordinator run again over what was
 * recorded, up to the last recorded move. Every move it makes must be the one on
 * record, with the same guards and the same outputs; otherwise this is another
 * Coordinator than the one that began, and it does not go on.
 */
export function rerun(recorded: Recorded, ports: Ports): Progress {
  const { coordination_id, received, moves, rounds } = recorded
  const refuse = (problem: string) => faults.coordination_diverged({ coordination_id, problem })
  if (received.redacted === true) throw refuse('what was asked of it is redacted.')
  if (rounds.some((round) => 'answer_pack' in round && round.answer_pack === erased))
    throw refuse('an answer to its questions is redacted.')
  let progress = arrive(begin(inputOf(recorded), ports), rounds, ports)
  for (const [i, move] of moves.entries()) {
    progress = nextMove(progress, ports)
    const entry = progress.entries[i + 1]
    if (entry === undefined)
      throw refuse(`move ${i + 1} of the record is ${move.from} → ${move.to}; run again, it makes none.`)
    if (canonicalJson(madeBy(entry)) !== canonicalJson(recordedBy(move)))
      throw refuse(
        `move ${i + 1} of the record is ${move.from} → ${move.to}; run again, it is ${entry.from_state} → ${entry.to_state} or says something else.`,
      )
  }
  return progress
}

/** One move further, or to where it rests. What was refused on the way moves nothing. */
export function nextMove(progress: Progress, ports: Ports): Progress {
  let at = progress
  while (!isAtRest(at) && at.entries.length === progress.entries.length) at = step(at, ports)
  return at
}

function madeBy({ from_state, to_state, trigger, guards_evaluated, outputs_produced }: TapeEntry): Json {
  return { from: from_state, to: to_state, trigger, guards: guards_evaluated, outputs: outputs_produced }
}

function recordedBy({ from, to, trigger, payload }: Rune<'coordination.moved'>): Json {
  return {
    from: from ?? null,
    to: to ?? null,
    trigger: trigger ?? null,
    guards: payload.guards,
    outputs: payload.outputs,
  }
}
