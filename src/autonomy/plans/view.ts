import type { GuardReading } from '../../coordinator/schemas/run-tape.ts'
import type { CoordinationState } from '../../machines/coordination.ts'
import type { PlanMove, PlanView } from './plans.ts'
import { failureOf, inputOf, openPack, type Recorded, stateOf } from './recorded.ts'

export function viewOf(recorded: Recorded): PlanView {
  const { coordination_id, received, moves, files } = recorded
  const { intent_id, run_id = null } = received.payload
  return {
    coordination_id,
    session_id: received.session_id,
    goal_id: received.goal_id ?? null,
    intent_id,
    run_id,
    state: stateOf(recorded),
    submitted_at: received.at,
    updated_at: moves.at(-1)?.at ?? received.at,
    input: inputOf(recorded),
    moves: moves.map(
      ({ from, to, trigger, at, payload }): PlanMove => ({
        from: from as CoordinationState,
        to: to as CoordinationState,
        trigger: trigger ?? '',
        at,
        duration_ms: payload.duration_ms,
        guards: payload.guards as readonly GuardReading[],
        outputs: payload.outputs,
      }),
    ),
    waits_for: openPack(recorded),
    failure: failureOf(recorded),
    files,
  }
}
