import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { genesis, headerText, link } from '../runes/chain.ts'
import type { StoredRecord } from '../runes/record.ts'
import type { Rune } from '../runes/rune.ts'
import { epochs, subjects } from './models.ts'
import type { Head } from './port.ts'
import type { Prepared } from './prepare.ts'
import type { FoldableRune, ReadModel, Row } from './read-model.ts'

/** A row as of the last commit, or as it will be after the appends that are ahead in the queue. */
export type Look = <V extends Json>(model: ReadModel<V>, key: string) => Row<V> | undefined

/** A row to be written, or to be removed where `row` is undefined. */
export interface Change {
  readonly model: string
  readonly key: string
  readonly row: Row | undefined
}

/** What a sealed log still takes: its archiving, redactions, and the settling of unknown outcomes. */
const acceptedWhenSealed: readonly string[] = [
  'session.archived',
  'rune.redacted',
  'contract.moved',
  'contract.evidence_added',
  'interaction.answered',
  'memory.committed',
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

/** Folds runes into the rows of the read models. */
export interface Folding {
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

interface ModelFold {
  readonly model: ReadModel
  readonly current: (key: string) => Row | undefined
  overlay: Map<string, Row | undefined> | undefined
}

function foldOf(model: ReadModel, look: Look): ModelFold {
  const folding: ModelFold = {
    model,
    overlay: undefined,
    current(key) {
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

/** Gives each rune of an accepted batch its place and its proof. */
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
