import type { State } from '../kernel/machine.ts'
import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import type { ConsequenceLabel } from '../wire/contract.ts'

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
export interface StatusFlags {
  readonly is_terminal: boolean
  readonly is_stable: boolean
  readonly is_resumable: boolean
}

const flags = Object.fromEntries(
  Object.entries<State>(contractMachine.states).map(([status, { terminal, stable, resumable }]) => {
    const is_terminal = terminal === true
    return [status, { is_terminal, is_stable: is_terminal || stable === true, is_resumable: resumable === true }]
  }),
) as { readonly [S in ContractStatus]: StatusFlags }

/** What the declaration says about a status. */
export function statusFlags(status: ContractStatus): StatusFlags {
  return flags[status]
}
