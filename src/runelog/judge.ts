import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { genesis, headerText, link, type Rune, type StoredRecord, toRune } from '../runes/rune.ts'
import { claimOf, claims, epochs, isClaim, subjects } from './models.ts'
import type { FoldableRune, Head, ReadModel, Row } from './port.ts'
import type { Prepared } from './prepare.ts'

/** A row as of the last commit, or as it will be after the appends ahead in the queue. */
export type Look = <V extends Json>(model: ReadModel<V>, key: string) => Row<V> | undefined

/** A row to be written, or to be removed where `row` is undefined. */
export interface Change {
  readonly model: string
  readonly key: string
  readonly row: Row | undefined
}

/** A name for a row that is unique among all models. */
export function rowName(model: string, key: string): string {
  return `${model} ${key}`
}

/** The kinds that a sealed log still accepts: its archiving, redactions, and settlements of unknown outcomes. */
const acceptedWhenSealed: readonly string[] = [
  ...['session.archived', 'rune.redacted', 'contract.moved', 'contract.evidence_added'],
  ...['interaction.answered', 'memory.committed'],
]

/** Decides whether a batch may be recorded, and how rows change. A store that has to fetch rows calls it again. */
export function judge(
  batch: Prepared,
  head: Head | undefined,
  look: Look,
  models: readonly ReadModel[],
): readonly Change[] | Fault {
  const { session_id, runes, expect, fence } = batch
  if (head === undefined) {
    const [first] = runes
    if (first?.rune.kind !== 'session.created' || first.rune.subject_id !== session_id)
      return faults.not_found({ what: 'session', id: session_id })
  }
  if (fence !== undefined) {
    const actual = look(epochs, fence.run_id)?.value.epoch ?? 0
    if (actual !== fence.epoch) return faults.stale_fence({ ...fence, actual })
  }
  for (const [subject_id, expected] of expect) {
    const actual = look(subjects, subject_id)?.value.version ?? 0
    if (actual !== expected) return faults.stale_write({ subject_id, expected, actual })
  }

  let sealed = head?.sealed ?? false
  let event_id = head?.event_id ?? 0
  const folding = startFold(models, look)
  for (const { rune } of runes) {
    if (sealed && !acceptedWhenSealed.includes(rune.kind))
      return faults.log_sealed({ session_id, kind: rune.kind, accepted: acceptedWhenSealed })
    event_id += 1
    rune.event_id = event_id
    const fault = folding.fold(rune)
    if (fault !== undefined) return fault
    if (rune.kind === 'session.closed') sealed = true
  }
  return folding.changes()
}

interface Folding {
  fold(rune: FoldableRune): Fault | undefined
  /** The rows that differ from what `look` shows. */
  changes(): readonly Change[]
}

/** Folds runes into rows, on top of what `look` shows. Appending, redacting and rebuilding all go through here. */
export function startFold(models: readonly ReadModel[], look: Look): Folding {
  const all = models.map((model) => foldOf(model, look))

  return {
    fold(rune) {
      for (const folding of all)
        for (const key of folding.model.keys(rune, folding.current)) {
          const before = folding.current(key)
          const after = folding.model.fold(before, rune, key)
          if (after instanceof Fault) return after
          if (after === before) continue
          folding.overlay ??= new Map()
          folding.overlay.set(key, after)
        }
      return undefined
    },
    changes() {
      const changes: Change[] = []
      for (const { model, overlay } of all)
        if (overlay !== undefined) for (const [key, row] of overlay) changes.push({ model: model.name, key, row })
      return changes
    },
  }
}

function foldOf(model: ReadModel, look: Look) {
  const folding = {
    model,
    overlay: undefined as Map<string, Row | undefined> | undefined,
    current(key: string): Row | undefined {
      const row = folding.overlay?.get(key)
      return row !== undefined || folding.overlay?.has(key) ? row : look(model, key)
    },
  }
  return folding
}

/** A batch that was judged: its runes, their stored form and the new end of the log. */
export interface Inscribed {
  readonly runes: readonly Rune[]
  readonly records: readonly StoredRecord[]
  readonly head: Head
}

/** Gives each rune of an accepted batch its event id and its hash. */
export function inscribe(batch: Prepared, head: Head | undefined, sha256: Sha256): Inscribed {
  const before = head ?? { event_id: 0, hash: genesis, sealed: false, archived: false }
  let { event_id, hash: prev_hash, sealed, archived } = before
  const runes: Rune[] = []
  const records: StoredRecord[] = []
  for (const { rune, payload, salt } of batch.runes) {
    event_id += 1
    rune.event_id = event_id
    const header = headerText(rune)
    const hash = link(prev_hash, header, sha256)
    rune.prev_hash = prev_hash
    rune.hash = hash
    runes.push(rune as Rune)
    records.push({ event_id, header, hash, payload, salt })
    prev_hash = hash
    sealed ||= rune.kind === 'session.closed'
    archived ||= rune.kind === 'session.archived'
  }
  return { runes, records, head: { session_id: batch.session_id, event_id, hash: prev_hash, sealed, archived } }
}

/**
 * The rows of one session, folded again after a redaction, so that they hold no erased content. A row that followed only
 * from the `original` payload is removed.
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
  const kept = new Set(changes.map(({ model, key }) => rowName(model, key)))
  const rune = toRune(original, '')
  const gone = own.flatMap((model) =>
    model
      .keys(rune, () => undefined)
      .flatMap((key) => (kept.has(rowName(model.name, key)) ? [] : [{ model: model.name, key, row: undefined }])),
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

/** Folds a stored record. A recorded rune is never refused again, so a refusal throws `store_damaged`. */
export function foldRecord(folding: Folding, record: StoredRecord): void {
  const problem = foldProblem(folding, record)
  if (problem !== undefined) throw faults.store_damaged({ what: nameOf(record), problem })
}

/** The reason why a stored record cannot be folded; undefined if it was. Any bytes may come. */
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

/** Refuses a key that the log shows to be held. Rows do not count: one statement can delete a row. */
export function heldInLog(claim: string, histories: Iterable<readonly StoredRecord[]>): Fault | undefined {
  for (const history of histories) {
    const folding = startFold([claims], () => undefined)
    for (const record of history) foldRecord(folding, record)
    const held = folding.changes().find(({ key, row }) => key === claim && row !== undefined)?.row?.value
    if (held !== undefined && isClaim(held)) return faults.key_taken({ key: claim, ...held })
  }
  return undefined
}
