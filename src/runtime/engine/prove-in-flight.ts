import { faults } from '../../faults/catalogue.ts'
import { positionOf } from '../../observation/graph-state.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import { othersTurn, sliceRunes } from '../../runelog/slices.ts'
import { createVerifier } from '../../runes/verify.ts'
import type { Engine } from './engine.ts'

/**
 * A run whose call was begun by a worker that is gone goes on only if its log
 * is what was recorded: whether the call may be repeated stands there, and a
 * changed byte must not start it a second time. Throws `store_damaged` otherwise.
 * Who signed an erasure is for `verify` to judge; here the chain and the payloads count.
 */
export async function proveInFlight(engine: Engine, state: SessionState, run: RunView): Promise<void> {
  if (!positionOf(state, run.run_id).pending.some(({ contract }) => contract === 'running')) return
  const { session_id } = state
  const verifier = createVerifier(session_id, { sha256: engine.sha256, check: () => true, trusted: undefined })
  let taken = 0
  for await (const record of engine.runelog.records(session_id)) {
    refuse(verifier.take(record))
    if (++taken % sliceRunes === 0) await othersTurn()
  }
  refuse(verifier.end())

  function refuse(bad: ReturnType<typeof verifier.end>) {
    if (bad === undefined) return
    const problem = `${bad.problem} A call was under way, and is neither repeated nor asked about.`
    throw faults.store_damaged({ what: `${session_id} event ${bad.event_id}`, problem })
  }
}
