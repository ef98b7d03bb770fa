import { accepted, faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import { genesis, runesOf, type StoredRecord } from '../runes/record.ts'
import { createBell, follow } from './follow.ts'
import { type Change, foldRecord, inscribe, judge, type Look, refoldSession, startFold } from './judge.ts'
import { allModels, selectRows } from './models.ts'
import { archival, redaction } from './own-runes.ts'
import type { Head, Ports, ReadModel, Row, Runelog, RunelogOptions } from './port.ts'
import { type Prepared, prepareLong } from './prepare.ts'
import { findWords, searchModel } from './words.ts'

/** The reference store: it implements the whole port, and ends with the process. */
export function openMemoryRunelog(ports: Ports, options: RunelogOptions = {}): Runelog {
  const models = allModels(options.models)
  const preparing = { ...ports, redactor: options.redactor }
  const bell = createBell()
  const heads = new Map<string, Head>()
  const logs = new Map<string, StoredRecord[]>()
  /** Every record in commit order, for a rebuild. */
  const order: { readonly session_id: string; readonly place: number }[] = []
  const tables = new Map(models.map(({ name }) => [name, new Map<string, Row>()]))

  let isClosed = false
  const check = () => {
    if (isClosed) throw faults.store_closed({ store: 'memory:' })
  }

  const rowsOf = <V extends Json>({ name }: ReadModel<V>) => tables.get(name) as Map<string, Row<V>> | undefined
  const texts = tables.get(searchModel) as Map<string, Row<string>> | undefined
  const look: Look = (model, key) => rowsOf(model)?.get(key)
  const log = (session_id: string) => logs.get(session_id) ?? []

  function write(changes: readonly Change[]) {
    for (const { model, key, row } of changes) {
      if (row === undefined) tables.get(model)?.delete(key)
      else tables.get(model)?.set(key, row)
    }
  }

  function record(batch: Prepared) {
    check()
    const { session_id } = batch
    const head = heads.get(session_id)
    const changes = judge(batch, head, look, models)
    if (changes instanceof Fault) return changes
    const inscribed = inscribe(batch, head, ports.sha256)
    const records = log(session_id)
    order.push({ session_id, place: records.length })
    logs.set(session_id, records.concat(inscribed.record))
    heads.set(session_id, inscribed.head)
    write(changes)
    bell.ring([session_id])
    return inscribed.runes
  }

  const store: Runelog = {
    async append(batch) {
      const prepared = await prepareLong(batch, preparing)
      return prepared instanceof Fault ? prepared : record(prepared)
    },
    async read(session_id, { after = 0, before = Number.POSITIVE_INFINITY, limit, backward = false } = {}) {
      const runes = runesOf(log(session_id), genesis)
      const chosen = runes.filter(({ event_id }) => event_id > after && event_id < before)
      if (backward) chosen.reverse()
      return chosen.slice(0, limit)
    },
    follow: (session_id, after, signal) => follow({ read: store.read, bell, check }, session_id, after, signal),
    head: async (session_id) => heads.get(session_id),
    sessionIds: async () => [...heads.keys()],
    row: async (model, key) => look(model, key),
    rows: async (model, query) => selectRows(rowsOf(model)?.values() ?? [], query),
    async tags(model) {
      const tags = [...(rowsOf(model)?.values() ?? [])].flatMap(({ tag }) => (tag === null ? [] : [tag]))
      return [...new Set(tags)].sort()
    },
    async count(model, tag, limit) {
      const rows = selectRows(rowsOf(model)?.values() ?? [], { tag, limit })
      return { count: rows.length, first: rows[0]?.sort ?? null }
    },
    search: async (query) => findWords(texts?.values() ?? [], [...heads.keys()], query),
    watch: bell.listen,
    async *records(session_id, after = 0) {
      yield* log(session_id).filter(({ event_id }) => event_id > after)
    },
    async redact(session_id, event_id, reason, by = {}) {
      const before = log(session_id)
      const { original, erased, batch, blobs } = redaction(before, { session_id, event_id, reason }, by, preparing)
      accepted(record(batch))
      const records = [...erased, ...log(session_id).slice(before.length)]
      logs.set(session_id, records)
      write(refoldSession(models, records, original))
      await options.eraseBlobs?.(blobs)
    },
    async archive(session_id, by = {}) {
      const segment = { segment: `${session_id}.memory`, sha256: ports.sha256(JSON.stringify(log(session_id))) }
      accepted(record(archival(heads.get(session_id), { session_id, ...segment }, by, preparing)))
    },
    async rebuild() {
      for (const table of tables.values()) table.clear()
      const folding = startFold(models, () => undefined)
      let count = 0
      for (const { session_id, place } of order) count += foldRecord(folding, log(session_id)[place] as StoredRecord)
      write(folding.changes())
      return count
    },
    async close() {
      isClosed = true
      bell.ringAll()
    },
  }
  return store
}
