import type { Json } from '../../kernel/json.ts'
import type { Counted, FoundSession, Head, ModelQuery, Range, ReadModel, Row, WordQuery } from '../../runelog/port.ts'
import { type ArchivedRecord, bare, type ColdFile, inCommitOrder, type Segments } from '../../runelog/segment.ts'
import { genesis, type Rune, type StoredRecord, toRune } from '../../runes/rune.ts'
import type { Connection } from './connection.ts'
import { readRow, readSort, type StoredModelRow } from './transaction.ts'

/** Where a session is kept: its head, and what of it is in cold storage. */
type Place = Head & { readonly id: number; readonly file: string | null; readonly runes: number | null }

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

  async function hot(id: number, { after = 0, before = farthest, limit = farthest, backward = false }: Range) {
    const records: ArchivedRecord[] = []
    for (let [low, high] = [after, before]; records.length < limit; ) {
      const wanted = Math.min(pageSize, limit - records.length)
      const page = await send<ArchivedRecord>(backward ? 'backward' : 'forward', id, low, high, wanted)
      records.push(...page)
      const last = page.at(-1)?.event_id
      if (page.length < wanted || last === undefined) break
      if (backward) high = last
      else low = last
    }
    return records
  }

  async function whole(found: Place): Promise<readonly ArchivedRecord[]> {
    return [...(await cold(found)), ...(await hot(found.id, {}))]
  }

  /** Runes never vanish: if there are too few, they moved to cold storage, or their segment was replaced. Retries. */
  async function read(session_id: string, range: Range = {}, tries = 3): Promise<readonly Rune[]> {
    const found = await place(session_id)
    if (found === undefined) return []
    const { after = 0, limit = farthest, backward = false } = range
    const before = Math.min(range.before ?? farthest, farthest)
    // One more at the lower end: the lowest rune refers to its hash.
    const rows = await hot(found.id, { after: after - 1, before, limit: Math.min(limit, farthest - 1) + 1, backward })
    const archived = await cold(found).catch((error) => orRetry(error, tries))
    const frozen = archived.filter(({ event_id }) => event_id >= after && event_id < before)
    const records = backward ? [...rows, ...frozen.toReversed()] : [...frozen, ...rows]
    const chosen = records.filter(({ event_id }) => event_id > after).slice(0, limit)
    const there = Math.min(limit, Math.min(before - 1, found.event_id) - after)
    if (chosen.length < there && tries > 1) return read(session_id, range, tries - 1)
    const hashes = new Map(records.map(({ event_id, hash }) => [event_id, hash]))
    return chosen.map((record) => toRune(record, hashes.get(record.event_id - 1) ?? genesis))
  }

  async function* records(session_id: string, after = 0): AsyncGenerator<StoredRecord, void, void> {
    let cursor = after
    for (let tries = 3; tries > 0; tries -= 1) {
      const found = await place(session_id)
      if (found === undefined) return
      for (const record of (await cold(found).catch((error) => orRetry(error, tries))).slice(cursor)) {
        yield bare(record)
        cursor = record.event_id
      }
      for (;;) {
        const page = await send<StoredRecord>('forward', found.id, cursor, farthest, atOnce)
        if (page[0] !== undefined && page[0].event_id !== cursor + 1 && found.file === null && tries > 1) break
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
    const page = await send<ArchivedRecord>('allRunes', position, atOnce)
    yield* page
    if (page.length < atOnce) return
    position = page.at(-1)?.position ?? position
  }
}

function orRetry(error: unknown, tries: number): readonly ArchivedRecord[] {
  if (tries > 1 && (error as { code?: string }).code === 'ENOENT') return []
  throw error
}
