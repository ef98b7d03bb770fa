import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { foldedRunesIn, genesis, headerText, link, runeId, type StoredRecord, toRunes } from '../runes/record.ts'
import type { Rune } from '../runes/rune.ts'
import { claimOf, claims, epochs, isClaim, subjects } from './models.ts'
import type { FoldableRune, Head, ReadModel, Row } from './port.ts'
import type { Prepared, RuneInTheMaking } from './prepare.ts'

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
  readonly record: StoredRecord
  readonly head: Head
}

/** Gives each rune of an accepted batch its event id, and all of them one record. */
export function inscribe(batch: Prepared, end: Head | undefined, sha256: Sha256): Inscribed {
  const before = end ?? { event_id: 0, hash: genesis, sealed: false, archived: false }
  let { event_id, sealed, archived } = before
  const runes: RuneInTheMaking[] = []
  const [payloads, salts]: [string[], string[]] = [[], []]
  for (const { rune, payload, salt } of batch.runes) {
    event_id += 1
    rune.event_id = event_id
    rune.rune_id = runeId(batch.session_id, event_id)
    runes.push(rune)
    payloads.push(payload)
    salts.push(salt)
    sealed ||= rune.kind === 'session.closed'
    archived ||= rune.kind === 'session.archived'
  }
  const header = headerText(runes)
  const hash = link(before.hash, header, sha256)
  for (const rune of runes) {
    rune.prev_hash = before.hash
    rune.hash = hash
  }
  const record = { event_id, header, hash, payload: payloads.join('\n'), salt: salts.join('\n') }
  const head = { session_id: batch.session_id, event_id, hash, sealed, archived }
  return { runes: runes as readonly Rune[], record, head }
}

/**
 * The rows of one session, folded again after a redaction, so that they hold no erased content. A row that followed only
 * from the `original` rune is removed.
 */
export function refoldSession(
  models: readonly ReadModel[],
  records: Iterable<StoredRecord>,
  original: Rune,
): readonly Change[] {
  const own = models.filter((model) => model.shared === undefined)
  const folding = startFold(own, () => undefined)
  for (const record of records) foldRecord(folding, record)
  const changes = folding.changes()
  const kept = new Set(changes.map(({ model, key }) => rowName(model, key)))
  const gone = own.flatMap((model) =>
    model
      .keys(original, () => undefined)
      .flatMap((key) => (kept.has(rowName(model.name, key)) ? [] : [{ model: model.name, key, row: undefined }])),
  )
  return [...changes, ...gone]
}

/** All rows that follow from these records, and how many runes they have. */
export async function foldAll(models: readonly ReadModel[], records: AsyncIterable<StoredRecord>) {
  const folding = startFold(models, () => undefined)
  let count = 0
  for await (const record of records) {
    count += foldRecord(folding, record)
  }
  return { changes: folding.changes(), count }
}

/** Folds a stored record; returns how many runes it has. A recorded rune is never refused again: that throws `store_damaged`. */
export function foldRecord(folding: Folding, record: StoredRecord): number {
  const folded = folds(folding, record)
  if (typeof folded === 'number') return folded
  throw faults.store_damaged({ what: nameOf(record), problem: folded })
}

/** The reason why a stored record cannot be folded; undefined if it was. Any bytes may come. */
export function foldProblem(folding: Folding, record: StoredRecord): string | undefined {
  const folded = folds(folding, record)
  return typeof folded === 'string' ? folded : undefined
}

function folds(folding: Folding, record: StoredRecord): number | string {
  try {
    const runes = toRunes(record, '', foldedRunesIn(JSON.parse(record.header)))
    for (const rune of runes) {
      const fault = folding.fold(rune)
      if (fault !== undefined) return `it could not have been recorded: ${fault.message}`
    }
    return runes.length
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

/** A key that a batch claims, and the contract that it opens for it. */
export interface Claiming {
  readonly claim: string
  readonly idempotency_key: string
  readonly execution_id: string
}

/** The keys that a batch claims. */
export function claimedBy({ runes }: Prepared): readonly Claiming[] {
  return runes.flatMap(({ rune }) => {
    const claim = claimOf(rune as FoldableRune)
    const key = rune.kind === 'contract.opened' ? rune.payload.idempotency_key : null
    return claim === undefined || key === null
      ? []
      : [{ claim, idempotency_key: key, execution_id: rune.subject_id ?? '' }]
  })
}

/** The contract that a record opened, and all records about it: the log's own account of who holds a key. */
export interface History {
  readonly execution_id: string
  /** The last event of the record that opened it, as the index has it. */
  readonly event_id: number
  readonly records: readonly StoredRecord[]
  /** The record that opened it is in cold storage. */
  readonly isArchived: boolean
}

/** Whether the record that opened a contract is the first of its records. */
export function isOpenedIn(event_id: number, records: readonly StoredRecord[]): boolean {
  return records[0]?.event_id === event_id
}

/**
 * Refuses a key that the log shows to be held. Rows do not count: one statement can delete a row. A contract of the index
 * whose record is gone may have been started, so its key is not free.
 */
export function heldInLog(claim: string, histories: Iterable<History>): Fault | undefined {
  for (const { execution_id, event_id, records, isArchived } of histories) {
    if (!isArchived && !isOpenedIn(event_id, records)) {
      const problem = `the log lacks the record of event ${event_id} that opened it, so its key is not free.`
      return faults.store_damaged({ what: `opening ${execution_id}`, problem })
    }
    const folding = startFold([claims], () => undefined)
    for (const record of records)
      for (const rune of toRunes(record, '')) if (rune.subject_id === execution_id) folding.fold(rune)
    const held = folding.changes().find(({ key, row }) => key === claim && row !== undefined)?.row?.value
    if (held !== undefined && isClaim(held)) return faults.key_taken({ key: claim, ...held })
  }
  return undefined
}
