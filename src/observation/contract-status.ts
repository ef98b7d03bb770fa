import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import type { ConsequenceLabel } from './consequence.ts'

/** What a status says about the world. An unknown outcome is a `waiting` with its own label. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const consequenceLabels: { readonly [S in ContractStatus]: ConsequenceLabel } = {
  pending:   'NOT_STARTED',
  running:   'IN_PROGRESS',
  waiting:   'WAITING',
  completed: 'SUCCESS',
  failed:    'FAILED',
  rejected:  'REJECTED',
  cancelled: 'CANCELLED',
}

/** The action took place. If it is irreversible, too, it left something behind. */
export function hasHappened(status: ContractStatus): boolean {
  return consequenceLabels[status] === 'SUCCESS'
}

/** What the declaration says about a status. */
export function statusFlags(status: ContractStatus) {
  const state = contractMachine.states[status]
  const is_terminal = state.terminal === true
  return { is_terminal, is_stable: is_terminal || state.stable === true, is_resumable: state.resumable === true }
}
