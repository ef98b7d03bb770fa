import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { isSealed } from '../../machines/session.ts'
import { type History, isOpenedIn, type Look } from '../../runelog/judge.ts'
import { subjects } from '../../runelog/models.ts'
import type { Counted, Head, ModelQuery, Range, ReadModel, Row } from '../../runelog/port.ts'
import { readRange, wanted } from '../../runelog/read-range.ts'
import { type ArchivedRecord, bare, inCommitOrder, type Segments } from '../../runelog/segment.ts'
import type { StoredRecord } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import { unpacked, unpackedHeader } from './record-columns.ts'
import { every, one, prepare, type Statements, type Value } from './statements.ts'

type Column = string | Uint8Array
type RecordColumns = [event_id: number, header: Column, payload: Column, salt: string, hash: string, position: number]

const atOnce = 200
const most = Number.MAX_SAFE_INTEGER

/** Reads committed state: runes from the table and from cold storage as if they were one, and rows of read models. */
export function createReader(db: DatabaseSync, statements: Statements, segments: Segments) {
  const queries = new Map<string, StatementSync>()

  const key = (session_id: string) => one<[number]>(statements.sessionKey, session_id)?.[0]

  function lastRecord(session: number): { readonly event_id: number; readonly hash: string } | undefined {
    const found = one<[number, string]>(statements.lastRecord, session)
    return found === undefined ? undefined : { event_id: found[0], hash: found[1] }
  }

  function row<V extends Json>(model: ReadModel<V>, rowKey: string): Row<V> | undefined {
    const found = one<[string | null, number | null, string]>(statements.row, model.name, rowKey)
    if (found === undefined) return undefined
    return { key: rowKey, tag: found[0], sort: found[1], value: JSON.parse(found[2]) }
  }

  function rows<V extends Json>(model: Pick<ReadModel<V>, 'name'>, query: ModelQuery = {}): readonly Row<V>[] {
    const { sql, values } = rowsQuery(model.name, query)
    const statement = queries.get(sql) ?? prepare(db, sql)
    queries.set(sql, statement)
    const found = every<[string, string | null, number | null, string]>(statement, ...values)
    return found.map(([rowKey, tag, sort, value]) => ({ key: rowKey, tag, sort, value: JSON.parse(value) }))
  }

  /** Records in the table, without what is in cold storage, each with its position in the order of all commits. */
  const hot = (session: number) => every<RecordColumns>(statements.forward, session, 0, most).map(toRecord)

  function segmentOf(session: number): { readonly file: string; readonly runes: number } | undefined {
    const found = one<[string, number]>(statements.segment, session)
    return found === undefined ? undefined : { file: found[0], runes: found[1] }
  }

  async function cold(session: number): Promise<readonly ArchivedRecord[]> {
    const segment = segmentOf(session)
    return segment === undefined ? [] : segments.read(segment.file)
  }

  /** The records about each contract that was opened with this key, without those in cold storage. */
  function* contractsWith(idempotency_key: string): Generator<History, void, void> {
    for (const [session, event_id, execution_id] of every<[number, number, string]>(
      statements.openings,
      idempotency_key,
    )) {
      const named = JSON.stringify(execution_id)
      const records: StoredRecord[] = []
      for (const columns of columnsAfter(session, event_id - 1))
        if (headerOf(columns).includes(named)) records.push(toRecord(columns))
      const isArchived = !isOpenedIn(event_id, records) && (segmentOf(session)?.runes ?? 0) >= event_id
      yield { execution_id, event_id, records, isArchived }
    }
  }

  /** The records in the table that end after an event, page by page. */
  function* columnsAfter(session: number, after: number): Generator<RecordColumns, void, void> {
    for (let cursor = after; ; ) {
      const found = every<RecordColumns>(statements.forward, session, cursor, atOnce)
      yield* found
      if (found.length < atOnce) return
      cursor = found.at(-1)?.[0] ?? cursor
    }
  }

  async function read(session_id: string, range: Range = {}): Promise<readonly Rune[]> {
    const session = key(session_id)
    if (session === undefined) return []
    return readRange(
      {
        cold: await cold(session),
        hashAt: (event_id) => one<[string]>(statements.hash, session, event_id)?.[0],
        page(span) {
          const { low, high, limit } = span
          const page = span.backward
            ? every<RecordColumns>(statements.backward, session, low, high, limit)
            : every<RecordColumns>(statements.forward, session, low, limit)
          return wanted(page, ([event_id]) => event_id, span).map(toRecord)
        },
      },
      range,
    )
  }

  async function* records(session_id: string, after = 0): AsyncGenerator<StoredRecord, void, void> {
    const session = key(session_id)
    if (session === undefined) return
    let cursor = after
    for (const record of await cold(session)) {
      if (record.event_id <= after) continue
      yield bare(record)
      cursor = record.event_id
    }
    for (const columns of columnsAfter(session, cursor)) yield bare(toRecord(columns))
  }

  const coldFiles = () =>
    every<[string, number]>(statements.segments).map(([file, first_position]) => ({ file, first_position }))

  /** Every record of the store in the order of the commits, cold ones in their old places. */
  const inOrder = () => inCommitOrder(since(0), coldFiles(), segments.read)

  /** Records in the table that were committed after a position, in that order. */
  function* since(position: number): Generator<ArchivedRecord, void, void> {
    for (let last = position; ; ) {
      const found = every<RecordColumns>(statements.allRecords, last, atOnce)
      for (const columns of found) yield toRecord(columns)
      if (found.length < atOnce) return
      last = found.at(-1)?.[5] ?? last
    }
  }

  function count({ name }: ReadModel, tag: string, limit: number): Counted {
    const [found, first] = one<[number, number | null]>(statements.count, name, tag, limit) ?? [0, null]
    return { count: found, first }
  }

  return {
    key,
    lastRecord,
    row,
    rows,
    tags: ({ name }: ReadModel) => every<[string]>(statements.tags, name, name).map(([tag]) => tag),
    count,
    read,
    records,
    contractsWith,
    hot,
    cold,
    coldFiles,
    segmentOf,
    inOrder,
    since,
    meta: (name: string) => one<[string]>(statements.meta, name)?.[0],
    lastPosition: () => one<[number]>(statements.lastPosition)?.[0] ?? 0,
    lastSession: () => one<[number]>(statements.lastSession)?.[0] ?? 0,
    sessionIds: () => every<[string]>(statements.sessionIds).map(([id]) => id),
  }
}

/** The prepared reads of one connection. */
export type Reader = ReturnType<typeof createReader>

const headerOf = (columns: RecordColumns) =>
  unpacking(columns, ([event_id, header, payload, salt]) => unpackedHeader({ event_id, header, payload, salt }))

function toRecord(columns: RecordColumns): ArchivedRecord {
  const [event_id, header, payload, salt, hash, position] = columns
  const texts = unpacking(columns, () => unpacked({ event_id, header, payload, salt }))
  return { event_id, header: texts.header, payload: texts.payload, salt, hash, position }
}

function unpacking<T>(columns: RecordColumns, unpack: (columns: RecordColumns) => T): T {
  try {
    return unpack(columns)
  } catch (error) {
    const problem = `it cannot be unpacked: ${(error as Error).message}.`
    throw faults.store_damaged({ what: `the record of event ${columns[0]}`, problem }, { cause: error })
  }
}

const lastCharacter = '\u{10ffff}'

/** Rows without a `sort` come first, which is also how SQLite orders them. */
function rowsQuery(model: string, { tag, prefix, after, limit, backward = false, byKey = false }: ModelQuery) {
  const conditions: (readonly [sql: string, ...values: Value[]])[] = [['model = ?', model]]
  if (tag !== undefined) conditions.push(['tag = ?', tag])
  if (prefix !== undefined) conditions.push(['key >= ? AND key < ?', prefix, `${prefix}${lastCharacter}`])
  if (after !== undefined) conditions.push(beyond(after, backward))
  const direction = backward ? 'DESC' : 'ASC'
  const sql = `SELECT key, tag, sort, value FROM model_row WHERE ${conditions.map(([text]) => text).join(' AND ')}
    ORDER BY ${byKey ? '' : `sort ${direction}, `}key ${direction} LIMIT ?`
  return { sql, values: [...conditions.flatMap(([, ...values]) => values), limit ?? -1] }
}

function beyond({ sort, key }: { sort: number | null; key: string }, backward: boolean): readonly [string, ...Value[]] {
  if (sort === null) return backward ? ['(sort IS NULL AND key < ?)', key] : ['(sort IS NOT NULL OR key > ?)', key]
  if (backward) return ['(sort IS NULL OR sort < ? OR (sort = ? AND key < ?))', sort, sort, key]
  return ['(sort > ? OR (sort = ? AND key > ?))', sort, sort, key]
}

/** The place of a session in the tables, and the end of its log. */
export interface Place {
  readonly session: number
  readonly head: Head
}

/** The end of a session's log; undefined if there is none. */
export function placeIn(reader: Reader, look: Look, session_id: string): Place | undefined {
  const session = reader.key(session_id)
  const last = session === undefined ? undefined : reader.lastRecord(session)
  if (session === undefined || last === undefined) return undefined
  const state = look(subjects, session_id)?.value.state
  return { session, head: { session_id, ...last, sealed: isSealed(state), archived: state === 'archived' } }
}
