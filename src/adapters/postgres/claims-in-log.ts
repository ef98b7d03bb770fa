import type { Fault } from '../../faults/fault.ts'
import * as judging from '../../runelog/judge.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import type { StoredRecord } from '../../runes/record.ts'
import type { Connection } from './connection.ts'

type Opening = {
  readonly key: string
  readonly session: number
  readonly event_id: number
  readonly execution_id: string
}

/** Why the log forbids a batch to claim its keys, if it does. */
type HolderOf = (batch: Prepared, isChanged: (claim: string) => boolean) => Promise<Fault | undefined>

/** For batches that claim no key. */
export const noClaims: HolderOf = async () => undefined

/** Reads the contracts that were opened with the keys of these batches. The query is sent with the others. */
export async function claimsInLog(batches: readonly Prepared[], connection: Connection): Promise<HolderOf> {
  const keys = batches.flatMap(judging.claimedBy).map(({ idempotency_key }) => idempotency_key)
  const opened = keys.length === 0 ? [] : await connection.send<Opening>('openings', keys)

  function contractsWith(idempotency_key: string) {
    const own = opened.filter(({ key }) => key === idempotency_key)
    return Promise.all(
      own.map(async ({ session, event_id, execution_id }): Promise<judging.History> => {
        const named = JSON.stringify(execution_id)
        const records = await connection.send<StoredRecord>('contract', session, event_id, named)
        // Asked after the records: a record that moves to cold storage in between is found there.
        const isMissing = !judging.isOpenedIn(event_id, records)
        const isArchived = isMissing && (await connection.send('archivedEvent', session, event_id)).length > 0
        return { execution_id, event_id, records, isArchived }
      }),
    )
  }

  /** Why the log forbids a batch to claim its keys. A claim that this transaction changed is judged by its row. */
  return async (batch: Prepared, isChanged: (claim: string) => boolean): Promise<Fault | undefined> => {
    for (const { claim, idempotency_key } of judging.claimedBy(batch)) {
      if (isChanged(claim)) continue
      const held = judging.heldInLog(claim, await contractsWith(idempotency_key))
      if (held !== undefined) return held
    }
    return undefined
  }
}
