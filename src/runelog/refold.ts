import { type StoredRecord, toRune } from '../runes/record.ts'
import { type Change, startFold } from './judge.ts'
import type { ReadModel } from './read-model.ts'

/**
 * The rows of one session as they follow from its runes alone. After a
 * redaction these replace what stands there, so that erased content does not
 * live on in a read model.
 */
export function refoldSession(models: readonly ReadModel[], records: Iterable<StoredRecord>): readonly Change[] {
  const folding = startFold(
    models.filter((model) => model.shared !== true),
    () => undefined,
  )
  for (const record of records) refuseNothing(folding.fold(toRune(record, '')))
  return folding.changes()
}

/** What was accepted once is accepted at every replay; anything else is a bug in a fold. */
export function refuseNothing(fault: Error | undefined): void {
  if (fault !== undefined) throw new Error(`A recorded rune was refused on replay: ${fault.message}`, { cause: fault })
}
