import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { StoredRecord } from '../runes/record.ts'
import { startFold } from './judge.ts'
import { claimOf, claims, isClaim } from './models/claims.ts'
import type { Prepared } from './prepare.ts'
import type { FoldableRune } from './read-model.ts'
import { foldRecord } from './refold.ts'

/** A contract that a batch opens, and the key that it claims. */
export interface Claiming {
  readonly claim: string
  readonly idempotency_key: string
}

/** The keys that a batch claims. */
export function claimedBy({ runes }: Prepared): readonly Claiming[] {
  return runes.flatMap(({ rune }) => {
    const claim = claimOf(rune as FoldableRune)
    const key = rune.kind === 'contract.opened' ? rune.payload.idempotency_key : null
    return claim === undefined || key === null ? [] : [{ claim, idempotency_key: key }]
  })
}

/**
 * Refuses a key that the log shows to be held, whatever the rows say: a row can be deleted with one statement, and the
 * same payment must not be made twice. `histories` are the records of each contract that was opened with the key.
 */
export function heldInLog(claim: string, histories: Iterable<readonly StoredRecord[]>): Fault | undefined {
  for (const history of histories) {
    const folding = startFold([claims], () => undefined)
    for (const record of history) foldRecord(folding, record)
    const held = folding.changes().find(({ key, row }) => key === claim && row !== undefined)?.row?.value
    if (held !== undefined && isClaim(held)) return faults.key_taken({ key: claim, ...held })
  }
  return undefined
}
