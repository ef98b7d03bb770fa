import type { CoordinationState } from '../../../machines/coordination.ts'
import { exits } from '../../exits.ts'

/** What a shell is told about where a plan stands. */
export function planExit(state: CoordinationState): number {
  if (state === 'DONE') return exits.ok
  return state === 'AWAITING_ANSWERS' ? exits.waiting : exits.failed
}
