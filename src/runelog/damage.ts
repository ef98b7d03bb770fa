import { canonicalJson } from '../kernel/json.ts'
import { isKind, payloadProblem } from '../runes/kinds.ts'
import { readHeader } from '../runes/read-header.ts'
import { linesOf, type StoredRecord, toRunes } from '../runes/record.ts'
import { blobsIn, readRedaction } from '../runes/redaction.ts'
import { foldProblem, nameOf, rowName, startFold } from './judge.ts'
import { claimOf } from './models.ts'
import type { ReadModel, Row } from './port.ts'
import type { ArchivedRecord } from './segment.ts'

/** A part of a store that does not follow from its log. Damage to a chain is named by the verifier of its session. */
export interface Damage {
  readonly what: string
  readonly problem: string
}

/** A row as its table has it. Its text may be anything. */
export interface StoredRow extends Omit<Row, 'value'> {
  readonly value: string
}

/** A row that proves from the log that a key was taken: the irreversible contract, and the last event of its commit. */
export interface StoredOpening {
  readonly key: string
  readonly session_id: string
  readonly event_id: number
  readonly execution_id: string
}

interface Auditable {
  readonly records: AsyncIterable<ArchivedRecord>
  /** Rows are as of the record at this place in the order of the commits. */
  readonly folded: number
  /** The rows of a model; undefined if no reader depends on those that are there. */
  readonly rows: ((model: string) => Promise<readonly StoredRow[]> | readonly StoredRow[]) | undefined
  /** The index of the irreversible contracts by key. Undefined: the store has none. */
  readonly openings?: () => Iterable<StoredOpening> | AsyncIterable<StoredOpening>
  /** The damage of the content under a reference; undefined if it is sound. */
  readonly blobProblem: (ref: string) => Promise<string | undefined>
}

/** Folds the log again, and compares every row and every output with what follows from it. */
export async function* damageIn(store: Auditable, models: readonly ReadModel[]): AsyncGenerator<Damage, void, void> {
  const folding = startFold(models, () => undefined)
  const refs = new Map<string, string>()
  const erased = new Set<string>()
  const openings = new Set<string>()
  let expected: ReadonlyMap<string, Row> | undefined
  let isReadable = true
  for await (const record of store.records) {
    if (expected === undefined && record.position > store.folded) expected = rowsOf(folding)
    const problem = shapeProblem(record) ?? foldProblem(folding, record)
    if (problem !== undefined) {
      isReadable = false
      yield { what: nameOf(record), problem }
    }
    for (const ref of refsIn(record)) refs.set(ref, nameOf(record))
    for (const ref of erasedBy(record)) erased.add(ref)
    for (const opening of openingsIn(record)) openings.add(openingName(opening))
  }
  // Rows that follow from a damaged log are not known.
  if (isReadable && store.rows !== undefined) yield* differences(expected ?? rowsOf(folding), store.rows, models)
  if (isReadable && store.openings !== undefined) yield* openingDamage(openings, store.openings())
  for (const [ref, where] of refs) {
    const problem = await store.blobProblem(ref)
    if (problem !== undefined && !erased.has(ref)) yield { what: `output ${ref} of ${where}`, problem }
  }
}

function rowsOf(folding: ReturnType<typeof startFold>): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>()
  for (const { model, key, row } of folding.changes()) if (row !== undefined) rows.set(rowName(model, key), row)
  return rows
}

async function* differences(
  expected: ReadonlyMap<string, Row>,
  rows: NonNullable<Auditable['rows']>,
  models: readonly ReadModel[],
): AsyncGenerator<Damage, void, void> {
  const missing = new Set(expected.keys())
  for (const { name } of models)
    for (const row of await rows(name)) {
      const what = `row ${rowName(name, row.key)}`
      const right = expected.get(rowName(name, row.key))
      missing.delete(rowName(name, row.key))
      if (right === undefined) yield { what, problem: 'it was added; it does not follow from the log.' }
      else if (!isSame(right, row)) yield { what, problem: 'it was changed; it does not follow from the log.' }
    }
  for (const key of missing) yield { what: `row ${key}`, problem: 'it is missing, and follows from the log.' }
}

const openingName = ({ key, session_id, event_id, execution_id }: StoredOpening) =>
  `opening ${execution_id} of ${session_id} event ${event_id} with the key ${JSON.stringify(key)}`

/** The openings that a record adds to the index. Any bytes may come. */
function openingsIn(record: StoredRecord): readonly StoredOpening[] {
  if (!record.header.includes('"kind":"contract.opened"')) return []
  try {
    return toRunes(record, '').flatMap((rune) => {
      const key = rune.kind === 'contract.opened' && claimOf(rune) !== undefined ? rune.payload.idempotency_key : null
      const { session_id, subject_id: execution_id = '' } = rune
      return key === null ? [] : [{ key, session_id, event_id: record.event_id, execution_id }]
    })
  } catch {
    return []
  }
}

/** Takes the openings that are found from `expected`. */
async function* openingDamage(
  expected: Set<string>,
  found: ReturnType<NonNullable<Auditable['openings']>>,
): AsyncGenerator<Damage, void, void> {
  for await (const opening of found) {
    const what = openingName(opening)
    if (!expected.delete(what)) yield { what, problem: 'it was added; it does not follow from the log.' }
  }
  for (const what of expected) yield { what, problem: 'it is missing, and follows from the log.' }
}

/** The reason why no append would accept the header or the payload of a record. */
function shapeProblem(record: StoredRecord): string | undefined {
  try {
    for (const { kind, payload } of toRunes(record, '')) {
      if (!isKind(kind)) return 'there is no such kind of event.'
      const problem = payloadProblem(kind, payload)
      if (problem !== undefined) return `its payload has another shape than its kind: ${problem}`
    }
    return undefined
  } catch {
    return 'it cannot be read.'
  }
}

const isSame = ({ tag, sort, value }: Row, stored: StoredRow) =>
  tag === stored.tag && sort === stored.sort && canonicalJson(value) === stored.value

function refsIn({ payload }: StoredRecord): readonly string[] {
  try {
    return payload.includes('blob_') ? linesOf(payload).flatMap((line) => blobsIn(JSON.parse(line))) : []
  } catch {
    return []
  }
}

function erasedBy({ header, payload }: StoredRecord): readonly string[] {
  const { runes = [] } = header.includes('"kind":"rune.redacted"') ? (readHeader(header) ?? {}) : {}
  const lines = linesOf(payload)
  return runes.flatMap(({ kind }, i) => (kind === 'rune.redacted' ? (readRedaction(lines[i] ?? '')?.blobs ?? []) : []))
}
