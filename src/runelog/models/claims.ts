import { faults } from '../../faults/catalogue.ts'
import type { ContractStatus } from '../../machines/contract.ts'
import type { FoldableRune, ReadModel, Row } from '../read-model.ts'

/** Who holds a key. It stays when the contract has completed: what happened must not happen twice. */
export type Claim = { readonly execution_id: string; readonly session_id: string; readonly state: ContractStatus }

/** The other direction, while the contract is not over: a move names the contract, not the key. */
type Claimed = { readonly claim: string }

const releasing: ReadonlySet<string> = new Set<ContractStatus>(['failed', 'rejected', 'cancelled'])

/** Ids have no blanks, so these keys never meet those of the claims. */
const holder = (execution_id: string) => `of ${execution_id}`

/**
 * Idempotency keys of irreversible contracts. A second contract with the same
 * key is refused while the first is pending, running, waiting or completed.
 */
export const claims: ReadModel = {
  name: 'claims',
  version: 1,
  shared: true,

  keys(rune, look) {
    if (rune.machine !== 'contract' || rune.subject_id === undefined) return []
    const opening = claimOf(rune)
    const claim = opening ?? (look(holder(rune.subject_id))?.value as Claimed | undefined)?.claim
    return claim === undefined ? [] : [claim, holder(rune.subject_id)]
  },

  fold(row, rune, key) {
    const execution_id = rune.subject_id ?? ''
    const state = rune.to as ContractStatus
    if (key === holder(execution_id)) return held(row, rune, key)

    if (rune.from === null && row !== undefined) {
      const holding = row.value as Claim
      return faults.key_taken({ key, ...holding })
    }
    if (releasing.has(state)) return undefined
    return { key, tag: null, sort: null, value: { execution_id, session_id: rune.session_id, state } satisfies Claim }
  },
}

function held(row: Row | undefined, rune: FoldableRune, key: string): Row | undefined {
  if (releasing.has(rune.to ?? '') || rune.to === 'completed') return undefined
  const claim = claimOf(rune)
  return claim === undefined ? row : { key, tag: null, sort: null, value: { claim } satisfies Claimed }
}

function claimOf(rune: FoldableRune): string | undefined {
  if (rune.kind !== 'contract.opened') return undefined
  const { irreversible, idempotency_key, key_scope } = rune.payload
  if (!irreversible || idempotency_key === null) return undefined
  return `${key_scope === 'global' ? 'global' : rune.session_id}:${idempotency_key}`
}
