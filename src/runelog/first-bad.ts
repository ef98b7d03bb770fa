import { isFault } from '../faults/catalogue.ts'
import type { StoredRecord } from '../runes/record.ts'
import type { BadEvent, Verifier } from '../runes/verify.ts'

/**
 * The first bad event of a log, by its verifier. Bytes that cannot be read are a finding, too. `seen` gets each record
 * that was proved, and may stop the search.
 */
export async function firstBad(
  records: AsyncIterable<StoredRecord>,
  verifier: Verifier,
  seen: (record: StoredRecord) => Promise<void> | 'stop' | undefined = () => undefined,
): Promise<BadEvent | undefined> {
  try {
    for await (const record of records) {
      const bad = verifier.take(record)
      if (bad !== undefined) return bad
      const turn = seen(record)
      if (turn === 'stop') return undefined
      if (turn !== undefined) await turn
    }
  } catch (error) {
    return { event_id: verifier.head().event_id + 1, problem: unreadable(error) }
  }
  return verifier.end()
}

/** The reason why a store cannot be read. For a damaged store: the damage, without the advice to look for more. */
export function unreadable(error: unknown): string {
  if (!isFault(error, 'store_damaged')) return `it cannot be read (${(error as Error).message.replace(/\.$/, '')}).`
  const { what, problem } = error.details
  return `it cannot be read. ${what}: ${problem}`
}
