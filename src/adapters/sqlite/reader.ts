import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Json } from '../../kernel/json.ts'
import type { Counted, Range } from '../../runelog/port.ts'
import type { ModelQuery, ReadModel, Row } from '../../runelog/read-model.ts'
import type { ArchivedRecord, Segments } from '../../runelog/segment.ts'
import { genesis } from '../../runes/chain.ts'
import { type StoredRecord, toRune } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import { rowsQuery } from './rows-query.ts'
import { prepare, type Statements } from './statements.ts'

type RuneColumns = [number, string, string, string | null, string, number]

const atOnce = 200

/** Reads committed state: runes from the table and from cold storage as if they were one, and rows of read models. */
export function createReader(db: DatabaseSync, statements: Statements, segments: Segments) {
  const queries = new Map<string, StatementSync>()

  function key(session_id: string): number | undefined {
    return (statements.sessionKey.get(session_id) as unknown as [number] | undefined)?.[0]
  }

  /** Where the runes of a session end. */
  function lastRune(session: number): { readonly event_id: number; readonly hash: string } | undefined {
    const found = statements.lastRune.get(session) as unknown as [number, string] | undefined
    return found === undefined ? undefined : { event_id: found[0], hash: found[1] }
  }

  function row<V extends Json>(model: ReadModel<V>, rowKey: string): Row<V> | undefined {
    const found = statements.row.get(model.name, rowKey) as unknown as
      | [string | null, number | null, string]
      | undefined
    if (found === undefined) return undefined
    return { key: rowKey, tag: found[0], sort: found[1], value: JSON.parse(found[2]) }
  }

  function rows<V extends Json>(model: Pick<ReadModel<V>, 'name'>, query: ModelQuery = {}): readonly Row<V>[] {
    const { sql, values } = rowsQuery(model, query)
    const statement = queries.get(sql) ?? prepare(db, sql)
    queries.set(sql, statement)
    const found = statement.all(...values) as unknown as [string, string | null, number | null, string][]
    return found.map(([rowKey, tag, sort, value]) => ({ key: rowKey, tag, sort, value: JSON.parse(value) }))
  }

  /** Records in the table, without what is in cold storage. */
  function hot(session: number, range: { after: number; before: number; limit: number; backward: boolean }) {
    const { after, before, limit, backward } = range
    const statement = backward ? statements.backward : statements.forward
    return (statement.all(session, after, before, limit) as unknown as RuneColumns[]).map(toRecord)
  }

  function segmentOf(session: number): { readonly file: string; readonly runes: number } | undefined {
    const found = statements.segment.get(session) as unknown as [string, number] | undefined
    return found === undefined ? undefined : { file: found[0], runes: found[1] }
  }

  /** All records of a session that were moved to cold storage. */
  async function cold(session: number): Promise<readonly ArchivedRecord[]> {
    const segment = segmentOf(session)
    return segment === undefined ? [] : segments.read(segment.file)
  }

  /** The records of each contract that was opened with this key, as far as they are not in cold storage. */
  function* contractsWith(idempotency_key: string): Generator<readonly StoredRecord[], void, void> {
    const opened = statements.openings.all(idempotency_key) as unknown as [number, number, string][]
    for (const [session, event_id, header] of opened) {
      const { subject_id } = JSON.parse(header) as { subject_id: string }
      const own = statements.contract.all(session, event_id, `"subject_id":${JSON.stringify(subject_id)}`)
      yield (own as unknown as RuneColumns[]).map(toRecord)
    }
  }

  async function read(session_id: string, range: Range = {}): Promise<readonly Rune[]> {
    const session = key(session_id)
    if (session === undefined) return []
    const after = range.after ?? 0
    const before = range.before ?? Number.MAX_SAFE_INTEGER
    const limit = range.limit ?? Number.MAX_SAFE_INTEGER
    const backward = range.backward ?? false
    const archived = segmentOf(session)
    const frozen = archived === undefined ? [] : await segments.read(archived.file)
    const from = frozen.filter(({ event_id }) => event_id > after && event_id < before)
    const table = hot(session, { after, before, limit, backward })
    const records = archived === undefined ? table : backward ? [...table, ...from.reverse()] : [...from, ...table]
    const chosen = records.length > limit ? records.slice(0, limit) : records
    const lowest = (backward ? chosen.at(-1) : chosen[0])?.event_id ?? 1
    const earlier =
      frozen[lowest - 2]?.hash ?? (statements.hash.get(session, lowest - 1) as unknown as [string] | undefined)?.[0]
    return chained(chosen, earlier ?? genesis, backward)
  }

  async function* records(session_id: string, after = 0): AsyncGenerator<StoredRecord, void, void> {
    const session = key(session_id)
    if (session === undefined) return
    let cursor = after
    for (const record of (await cold(session)).slice(after)) {
      yield bare(record)
      cursor = record.event_id
    }
    for (;;) {
      const found = hot(session, { after: cursor, before: Number.MAX_SAFE_INTEGER, limit: atOnce, backward: false })
      for (const record of found) yield record
      if (found.length < atOnce) return
      cursor = found.at(-1)?.event_id ?? cursor
    }
  }

  /** Records with their position in the order of all commits, for archiving. */
  function positioned(session: number): readonly ArchivedRecord[] {
    const all = statements.forward.all(session, 0, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    return (all as unknown as RuneColumns[]).map((columns) => ({ ...toRecord(columns), position: columns[5] }))
  }

  /** Every record of the store in the order of the commits, cold ones in their old places. */
  async function* inOrder(): AsyncGenerator<ArchivedRecord, void, void> {
    const waiting = (statements.segments.all() as unknown as [string, number][]).map(([file, first]) => ({
      file,
      first,
    }))
    const open: { records: readonly ArchivedRecord[]; next: number }[] = []
    let position = 0
    for (;;) {
      const found = statements.allRunes.all(position, atOnce) as unknown as RuneColumns[]
      for (const columns of found) {
        yield* coldBefore(columns[5])
        yield { ...toRecord(columns), position: columns[5] }
      }
      if (found.length < atOnce) break
      position = found.at(-1)?.[5] ?? position
    }
    yield* coldBefore(Number.POSITIVE_INFINITY)

    async function* coldBefore(limit: number): AsyncGenerator<ArchivedRecord, void, void> {
      for (;;) {
        while (waiting[0] !== undefined && waiting[0].first < limit)
          open.push({ records: await segments.read((waiting.shift() as { file: string }).file), next: 0 })
        let least: (typeof open)[number] | undefined
        for (const cursor of open) if (least === undefined || positionOf(cursor) < positionOf(least)) least = cursor
        if (least === undefined || positionOf(least) > limit) return
        yield least.records[least.next++] as ArchivedRecord
        if (least.next === least.records.length) open.splice(open.indexOf(least), 1)
      }
    }
  }

  /** Records in the table that were committed after a position, in that order. */
  function* since(position: number): Generator<StoredRecord, void, void> {
    for (let last = position; ; ) {
      const found = statements.allRunes.all(last, atOnce) as unknown as RuneColumns[]
      for (const columns of found) yield toRecord(columns)
      if (found.length < atOnce) return
      last = found.at(-1)?.[5] ?? last
    }
  }

  const tags = ({ name }: ReadModel) => (statements.tags.all(name) as unknown as [string][]).map(([tag]) => tag)
  function count({ name }: ReadModel, tag: string, limit: number): Counted {
    const [found, first] = statements.count.get(name, tag, limit) as unknown as [number, number | null]
    return { count: found, first }
  }

  const meta = (name: string) => (statements.meta.get(name) as unknown as [string] | undefined)?.[0]
  const lastSession = () => (statements.lastSession.get() as unknown as [number])[0]
  const sessionIds = () => (statements.sessionIds.all() as unknown as [string][]).map(([id]) => id)
  const segmentFiles = () => (statements.segments.all() as unknown as [string, number][]).map(([file]) => file)

  return {
    key,
    lastRune,
    row,
    rows,
    tags,
    count,
    read,
    records,
    contractsWith,
    positioned,
    cold,
    segmentOf,
    inOrder,
    since,
    meta,
    lastSession,
    sessionIds,
    segmentFiles,
  }
}

export type Reader = ReturnType<typeof createReader>

function positionOf({ records, next }: { records: readonly ArchivedRecord[]; next: number }): number {
  return records[next]?.position ?? Number.POSITIVE_INFINITY
}

function toRecord([event_id, header, payload, salt, hash]: RuneColumns): StoredRecord {
  return { event_id, header, payload, salt, hash }
}

function bare({ event_id, header, payload, salt, hash }: StoredRecord): StoredRecord {
  return { event_id, header, payload, salt, hash }
}

function chained(records: readonly StoredRecord[], earlier: string, backward: boolean): readonly Rune[] {
  return records.map((record, i) => toRune(record, records[backward ? i + 1 : i - 1]?.hash ?? earlier))
}
