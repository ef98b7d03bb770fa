import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { type StoredRecord, toRune } from '../runes/record.ts'
import { type Change, type Folding, startFold } from './judge.ts'
import type { ReadModel } from './read-model.ts'

/**
 * The rows of one session as they follow from its runes alone. After a redaction these replace what stands there, so
 * that erased content does not live on in a read model. `original` is the record as it was before: a row that only its
 * payload gave a reason for goes.
 */
export function refoldSession(
  models: readonly ReadModel[],
  records: Iterable<StoredRecord>,
  original: StoredRecord,
): readonly Change[] {
  const own = models.filter((model) => model.shared !== true)
  const folding = startFold(own, () => undefined)
  for (const record of records) foldRecord(folding, record)
  const changes = folding.changes()
  const nameOfRow = (model: string, key: string) => `${model} ${key}`
  const kept = new Set(changes.map(({ model, key }) => nameOfRow(model, key)))
  const rune = toRune(original, '')
  const gone = own.flatMap((model) =>
    model
      .keys(rune, () => undefined)
      .flatMap((key) => (kept.has(nameOfRow(model.name, key)) ? [] : [{ model: model.name, key, row: undefined }])),
  )
  return [...changes, ...gone]
}

/** What was accepted once is accepted at every replay. A record that is not was changed, or added past the log. */
export function foldRecord(folding: Folding, record: StoredRecord): void {
  const problem = foldProblem(folding, record)
  if (problem !== undefined) throw faults.store_damaged({ what: nameOf(record), problem })
}

/** Why a stored record cannot be folded; undefined if it was. Any bytes may come. */
export function foldProblem(folding: Folding, record: StoredRecord): string | undefined {
  try {
    const fault = folding.fold(toRune(record, ''))
    return fault === undefined ? undefined : `it could not have been recorded: ${fault.message}`
  } catch (error) {
    return error instanceof Fault ? error.message : 'it cannot be read.'
  }
}

/** The event by its session and number, as far as its header can be read. */
export function nameOf({ header, event_id }: StoredRecord): string {
  try {
    return `${(JSON.parse(header) as { session_id?: unknown }).session_id} event ${event_id}`
  } catch {
    return `event ${event_id}`
  }
}
