import type { Json } from '../../kernel/json.ts'
import type { Counted, FoundSession, Head, ModelQuery, Range, ReadModel, Row, WordQuery } from '../../runelog/port.ts'
import { readRange, readRunes, type Span, wanted } from '../../runelog/read-range.ts'
import { type ArchivedRecord, bare, type ColdFile, inCommitOrder, type Segments } from '../../runelog/segment.ts'
import { firstEventOf, genesis, type StoredRecord } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import type { Connection } from './connection.ts'
import { readRow, readSort, type StoredModelRow } from './model-rows.ts'

/** Where a session is kept: its head, and what of it is in cold storage. */
type Place = Head & { readonly id: number; readonly file: string | null; readonly runes: number | null }

/** A record, or none, and whether the session has any in cold storage. */
type HotRecord = StoredRecord & { readonly file: string | null; readonly previous: string | null }

const lastEvent = ({ event_id }: Pick<StoredRecord, 'event_id'>) => event_id
const hotPage = 64
const atOnce = 1000
const pageSize = 5000
/** The greatest number that an event can have here. */
const farthest = 2 ** 31 - 1

/** Reads committed state: runes from the table and from cold storage as if they were one, and rows of read models. */
export function createReader(connection: Pick<Connection, 'send' | 'text'>, segments: Segments | undefined) {
  const { send, text } = connection

  const place = async (session_id: string): Promise<Place | undefined> => (await send<Place>('head', session_id))[0]

  async function head(session_id: string): Promise<Head | undefined> {
    const { id: _id, file: _file, runes: _runes, ...found } = (await place(session_id)) ?? {}
    return 'hash' in found ? found : undefined
  }

  async function cold({ file }: Pick<Place, 'file'>): Promise<readonly ArchivedRecord[]> {
    if (file === null) return []
    if (segments === undefined)
      throw new TypeError('The session is archived, and the store was opened without a folder for archived sessions.')
    return segments.read(file)
  }

  async function hot(id: number) {
    const records: ArchivedRecord[] = []
    for (let last = 0; ; ) {
      const page = await send<ArchivedRecord>('forward', id, last, pageSize)
      records.push(...page)
      last = page.at(-1)?.event_id ?? last
      if (page.length < pageSize) return records
    }
  }

  async function whole(found: Place): Promise<readonly ArchivedRecord[]> {
    return [...(await cold(found)), ...(await hot(found.id))]
  }

  /** A range of a session that is not archived, by one statement. Undefined: it is archived, or takes more than a page. */
  async function readHot(session_id: string, range: Range): Promise<readonly Rune[] | undefined> {
    const { before = farthest, limit = farthest, backward = false } = range
    const after = Math.max(0, range.after ?? 0)
    const asked = Math.min(limit, hotPage)
    const found = backward
      ? await send<HotRecord>('hotBackward', session_id, after, Math.min(before, farthest), asked)
      : await send<HotRecord>('hotForward', session_id, after, asked)
    if (found.some(({ file }) => file !== null)) return undefined
    const page = found.filter(({ header }) => header !== null)
    const span = { low: after, high: before, runes: limit, backward }
    const chosen = wanted(page, lastEvent, span)
    const records = backward ? chosen.toReversed() : chosen
    const all = readRunes(records, records[0]?.previous ?? genesis)
    const runes = all.filter(({ event_id }) => event_id > after && event_id < before)
    if (page.length === asked && runes.length < limit) return undefined
    return (backward ? runes.reverse() : runes).slice(0, limit)
  }

  /** Runes never vanish: if there are too few, they moved to cold storage, or their segment was replaced. Retries. */
  async function read(session_id: string, range: Range = {}, tries = 3): Promise<readonly Rune[]> {
    const hot = await readHot(session_id, range)
    if (hot !== undefined) return hot
    const found = await place(session_id)
    if (found === undefined) return []
    const { after = 0, limit = farthest } = range
    const before = Math.min(range.before ?? farthest, farthest)
    const source = {
      cold: await cold(found).catch((error) => orRetry(error, tries)),
      hashAt: async (event_id: number) => (await send<StoredRecord>('hash', found.id, event_id))[0]?.hash,
      page: async (span: Span) => {
        const { low, high, limit } = span
        const page = span.backward
          ? await send<StoredRecord>('backward', found.id, low, high, limit)
          : await send<StoredRecord>('forward', found.id, low, limit)
        return wanted(page, lastEvent, span)
      },
    }
    const chosen = await readRange(source, { ...range, before, limit: Math.min(limit, farthest) })
    const there = Math.min(limit, Math.min(before - 1, found.event_id) - after)
    return chosen.length < there && tries > 1 ? read(session_id, range, tries - 1) : chosen
  }

  async function* records(session_id: string, after = 0): AsyncGenerator<StoredRecord, void, void> {
    let cursor = after
    for (let tries = 3; tries > 0; tries -= 1) {
      const found = await place(session_id)
      if (found === undefined) return
      for (const record of await cold(found).catch((error) => orRetry(error, tries))) {
        if (record.event_id <= cursor) continue
        yield bare(record)
        cursor = record.event_id
      }
      for (;;) {
        const page = await send<StoredRecord>('forward', found.id, cursor, atOnce)
        const isGap = page[0] !== undefined && firstEventOf(page[0]) > cursor + 1
        if (isGap && found.file === null && tries > 1) break
        for (const record of page) yield bare(record)
        cursor = page.at(-1)?.event_id ?? cursor
        if (page.length < atOnce) break
      }
      if (cursor >= found.event_id) return
    }
  }

  async function row<V extends Json>({ name }: ReadModel<V>, key: string): Promise<Row<V> | undefined> {
    const [found] = await send<StoredModelRow>('row', name, key)
    return found === undefined ? undefined : readRow(found)
  }

  async function rows<V extends Json>({ name }: ReadModel<V>, query: ModelQuery = {}): Promise<readonly Row<V>[]> {
    const { tag, prefix, after, limit, backward = false, byKey = false } = query
    const values: unknown[] = [name]
    const value = (v: unknown) => `$${values.push(v)}`
    const conditions = ['model = $1']
    if (tag !== undefined) conditions.push(`tag = ${value(tag)}`)
    if (prefix !== undefined) conditions.push(`starts_with(key, ${value(prefix)})`)
    if (after !== undefined) {
      const beyond = `(${value(after.sort ?? Number.NEGATIVE_INFINITY)}::float8, ${value(after.key)}::text)`
      conditions.push(`(sort, key) ${backward ? '<' : '>'} ${beyond}`)
    }
    const direction = backward ? 'DESC' : 'ASC'
    const sql = `SELECT key, tag, sort, value FROM statewright.model_row WHERE ${conditions.join(' AND ')}
      ORDER BY ${byKey ? '' : `sort ${direction}, `}key ${direction} ${limit === undefined ? '' : `LIMIT ${value(limit)}`}`
    return (await text<StoredModelRow>(sql, values)).map((stored) => readRow<V>(stored))
  }

  const sessionIds = async () => (await send<{ session_id: string }>('sessionIds')).map(({ session_id }) => session_id)
  const tags = async ({ name }: ReadModel) => (await send<{ tag: string }>('tags', name)).map(({ tag }) => tag)

  async function count({ name }: ReadModel, tag: string, limit: number): Promise<Counted> {
    const [{ count, first } = { count: 0, first: null }] = await send<Counted>('count', name, tag, limit)
    return { count, first: readSort(first) }
  }

  async function search({ words, before = Number.POSITIVE_INFINITY, limit }: WordQuery) {
    if (words.length === 0) return []
    // Words are letters and digits, and quoted none is a part of the language.
    return send<FoundSession>('search', `${words.map((word) => `'${word}'`).join(' & ')}:*`, before, limit)
  }

  return { place, head, whole, read, records, row, rows, tags, count, search, sessionIds }
}

/** Every record of the store in the order of the commits, cold ones in their old places. */
export async function* inOrder(send: Connection['send'], segments: Segments | undefined) {
  const cold = await send<ColdFile>('segments')
  yield* inCommitOrder(inTable(send), cold, async (file) => (await segments?.read(file)) ?? [])
}

async function* inTable(send: Connection['send']): AsyncGenerator<ArchivedRecord, void, void> {
  for (let position = 0; ; ) {
    const page = await send<ArchivedRecord>('allRecords', position, atOnce)
    yield* page
    if (page.length < atOnce) return
    position = page.at(-1)?.position ?? position
  }
}

function orRetry(error: unknown, tries: number): readonly ArchivedRecord[] {
  if (tries > 1 && (error as { code?: string }).code === 'ENOENT') return []
  throw error
}
