import type { CoordinationState } from '../../machines/coordination.ts'
import type { ReadModel } from '../../runelog/read-model.ts'
import type { PlanRow } from './plans.ts'

/** Every coordination there is, by state, the one that moved last at the end. */
export const coordinations: ReadModel<PlanRow> = {
  name: 'coordinations',
  version: 1,
  keys: (rune) => (rune.machine === 'coordination' && rune.subject_id !== undefined ? [rune.subject_id] : []),
  fold(row, rune, key) {
    const before = row?.value
    const state = rune.to as CoordinationState
    const value: PlanRow = {
      coordination_id: key,
      session_id: rune.session_id,
      goal_id: before?.goal_id ?? rune.goal_id ?? null,
      intent_id: rune.kind === 'coordination.received' ? rune.payload.intent_id : (before?.intent_id ?? ''),
      state,
      submitted_at: before?.submitted_at ?? rune.at,
      updated_at: rune.at,
    }
    return { key, tag: state, sort: rune.at, value }
  },
}
