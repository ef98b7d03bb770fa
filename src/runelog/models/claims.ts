import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import type { ContractStatus } from '../../machines/contract.ts'
import type { FoldableRune, ReadModel, Row } from '../read-model.ts'

/** Who holds a key. It stays when the contract has completed: what happened must not happen twice. */
export type Claim = { readonly execution_id: string; readonly session_id: string; readonly state: ContractStatus }

/** The other direction, while the contract is not over: a move names the contract, not the key. */
type Claimed = { readonly claim: string }

const releasing: ReadonlySet<string> = new Set<ContractStatus>(['failed', 'rejected', 'cancelled'])

/** The first word of a key says what it is, and ids have no blanks: so no two keys meet, however a session is called. */
const holder = (execution_id: string) => `of ${execution_id}`

/** The key under which an idempotency key is claimed. */
export function claimKey(key_scope: 'session' | 'global', session_id: string, idempotency_key: string): string {
  return key_scope === 'global' ? `global ${idempotency_key}` : `session ${session_id} ${idempotency_key}`
}

/**
 * Idempotency keys of irreversible contracts. A second contract with the same
 * key is refused while the first is pending, running, waiting or completed.
 */
export const claims: ReadModel<Claim | Claimed> = {
  name: 'claims',
  version: 2,
  shared: true,

  keys(rune, look) {
    if (rune.machine !== 'contract' || rune.subject_id === undefined) return []
    const opening = claimOf(rune)
    const held = opening === undefined ? look(holder(rune.subject_id))?.value : undefined
    const claim = opening ?? (held !== undefined && !isClaim(held) ? held.claim : undefined)
    return claim === undefined ? [] : [claim, holder(rune.subject_id)]
  },

  fold(row, rune, key) {
    const execution_id = rune.subject_id ?? ''
    const state = rune.to as ContractStatus
    if (key === holder(execution_id)) return held(row, rune, key)

    const claim: Claim = { execution_id, session_id: rune.session_id, state }
    if (rune.from === null && row !== undefined)
      return faults.key_taken({ key, ...(isClaim(row.value) ? row.value : claim) })
    return releasing.has(state) ? undefined : { key, tag: null, sort: null, value: claim }
  },
}

function held(row: Row<Claim | Claimed> | undefined, rune: FoldableRune, key: string) {
  if (releasing.has(rune.to ?? '') || rune.to === 'completed') return undefined
  const claim = claimOf(rune)
  return claim === undefined ? row : { key, tag: null, sort: null, value: { claim } }
}

/** Tells who holds a key from the row that leads from a contract to its key. */
export function isClaim(value: Json): value is Claim {
  return typeof value === 'object' && value !== null && 'execution_id' in value
}

/** The key that a rune claims; undefined if it opens nothing irreversible. */
export function claimOf(rune: FoldableRune): string | undefined {
  if (rune.kind !== 'contract.opened') return undefined
  const { irreversible, idempotency_key, key_scope } = rune.payload
  if (!irreversible || idempotency_key === null) return undefined
  return claimKey(key_scope, rune.session_id, idempotency_key)
}
