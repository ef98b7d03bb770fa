import type { Fault } from '../../faults/fault.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import { claimedBy, heldInLog } from '../../runelog/proven-claims.ts'
import type { StoredRecord } from '../../runes/record.ts'
import type { Connection } from './connection.ts'

interface Opening {
  readonly session: number
  readonly event_id: number
  readonly header: string
  /** As it is written in the payload. */
  readonly key: string
}

/** As a key stands in canonical JSON, without its quotes. */
const written = (key: string) => canonicalJson(key).slice(1, -1)

/**
 * Asks the log for the contracts that were opened with the keys that batches claim, as far as they are not in cold
 * storage. The question travels with those that begin the transaction, so it costs no flight of its own.
 */
export async function openingsOf(batches: readonly Prepared[], connection: Connection) {
  const keys = batches.flatMap(claimedBy).map(({ idempotency_key }) => written(idempotency_key))
  const openings = keys.length === 0 ? [] : await connection.send<Opening>('openings', keys)

  /** The records of each contract that was opened with this key. */
  function contractsWith(idempotency_key: string): Promise<readonly (readonly StoredRecord[])[]> {
    const own = openings.filter(({ key }) => key === written(idempotency_key))
    return Promise.all(
      own.map(({ session, event_id, header }) => {
        const { subject_id } = JSON.parse(header) as { subject_id: string }
        const subject = `"subject_id":${JSON.stringify(subject_id)}`
        return connection.send<StoredRecord>('contract', session, event_id, subject)
      }),
    )
  }

  return {
    /** Why a batch may not claim its keys, whatever the rows say. A claim that this transaction changed is judged by its row. */
    async heldBy(batch: Prepared, isChanged: (claim: string) => boolean): Promise<Fault | undefined> {
      for (const { claim, idempotency_key } of claimedBy(batch)) {
        if (isChanged(claim)) continue
        const held = heldInLog(claim, await contractsWith(idempotency_key))
        if (held !== undefined) return held
      }
      return undefined
    },
  }
}
