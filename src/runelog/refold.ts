import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { type StoredRecord, toRune } from '../runes/record.ts'
import { type Change, type Folding, startFold } from './judge.ts'
import { claimOf, claims, isClaim } from './models.ts'
import type { Prepared } from './prepare.ts'
import type { FoldableRune, ReadModel } from './read-model.ts'

/**
 * The rows of one session, folded again after a redaction, so that erased content does not live on. A row that only the
 * `original` payload gave a reason for goes.
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

/** All rows that follow from these records, and how many records there were. */
export async function foldAll(models: readonly ReadModel[], records: AsyncIterable<StoredRecord>) {
  const folding = startFold(models, () => undefined)
  let count = 0
  for await (const record of records) {
    foldRecord(folding, record)
    count += 1
  }
  return { changes: folding.changes(), count }
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

/** The keys that a batch claims. */
export function claimedBy({
  runes,
}: Prepared): readonly { readonly claim: string; readonly idempotency_key: string }[] {
  return runes.flatMap(({ rune }) => {
    const claim = claimOf(rune as FoldableRune)
    const key = rune.kind === 'contract.opened' ? rune.payload.idempotency_key : null
    return claim === undefined || key === null ? [] : [{ claim, idempotency_key: key }]
  })
}

/** The text by which the other headers about the same subject are found. */
export function subjectText(header: string): string {
  return `"subject_id":${JSON.stringify((JSON.parse(header) as { subject_id: string }).subject_id)}`
}

/** Refuses a key that the log shows to be held, whatever the rows say: a row can be deleted with one statement. */
export function heldInLog(claim: string, histories: Iterable<readonly StoredRecord[]>): Fault | undefined {
  for (const history of histories) {
    const folding = startFold([claims], () => undefined)
    for (const record of history) foldRecord(folding, record)
    const held = folding.changes().find(({ key, row }) => key === claim && row !== undefined)?.row?.value
    if (held !== undefined && isClaim(held)) return faults.key_taken({ key: claim, ...held })
  }
  return undefined
}
