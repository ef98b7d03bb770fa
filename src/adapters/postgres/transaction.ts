import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { StoredRow } from '../../runelog/damage.ts'
import * as judging from '../../runelog/judge.ts'
import { claims, epochs, subjects } from '../../runelog/models.ts'
import type { Head, Ports, ReadModel, Row } from '../../runelog/port.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import type { Rune, StoredRecord } from '../../runes/rune.ts'
import type { Connection } from './connection.ts'
import { channel, storeLock } from './schema.ts'
import type { StatementName } from './statements.ts'

/** The ports of every transaction. */
export interface TransactionPorts extends Pick<Ports, 'sha256'> {
  readonly models: readonly ReadModel[]
  /** The models and their versions. The database must have the same. */
  readonly fingerprint: string
  readonly store: string
  readonly origin: string
  readonly sideWrites: SideWrites
}

type Write = readonly [name: StatementName, ...values: unknown[]]

/** Statements to write in the transaction of the runes, other than the rows that follow from them. */
export type SideWrites = (runes: readonly Rune[]) => readonly Write[]

/** One transaction over one or more sessions. */
export type Transaction = Awaited<ReturnType<typeof beginTransaction>>

type Wanted = Pick<judging.Change, 'model' | 'key'>

/** Locks the heads and rows of these batches until the commit. Where a row is missing, the unique keys decide. */
export async function beginTransaction(connection: Connection, batches: readonly Prepared[], ports: TransactionPorts) {
  const { models } = ports
  const heads = new Map<string, Head>()
  const loaded = new Map<string, Row | undefined>()
  const rows = new Map<string, judging.Change>()
  const inscribed: judging.Inscribed[] = []
  const later: Write[] = []
  const sessionIds = [...new Set(batches.map(({ session_id }) => session_id))]
  const first = batches.flatMap((batch) => wantedBy(batch, models))

  const [, , [transaction], [meta], found, holderOf] = await Promise.all([
    connection.send('begin'),
    connection.send('share', storeLock),
    connection.send<{ xid: string }>('transaction'),
    connection.send<{ value: string }>('meta', 'models'),
    connection.send<Head>('lockHeads', sessionIds),
    claimsInLog(batches, connection),
    load(first),
  ])
  const problem = 'another process has rebuilt its read models in another version; stop that one or upgrade this one.'
  if (meta?.value !== ports.fingerprint) throw faults.store_unusable({ store: ports.store, problem })
  for (const head of found) heads.set(head.session_id, head)
  const isNew = new Set(sessionIds.filter((session_id) => !heads.has(session_id)))

  async function load(wanted: readonly Wanted[]): Promise<void> {
    const names = new Map(wanted.map((w) => [judging.rowName(w.model, w.key), w]))
    const asked = [...names].filter(([name]) => !loaded.has(name))
    if (asked.length === 0) return
    for (const [name] of asked) loaded.set(name, undefined)
    const keys = asked.map(([, row]) => row)
    const found = await connection.send<StoredModelRow & Wanted>('lockRows', ...columns(keys, ['model', 'key']))
    for (const row of found) loaded.set(judging.rowName(row.model, row.key), readRow(row))
  }

  async function judged(batch: Prepared): Promise<readonly judging.Change[] | Fault> {
    for (;;) {
      const missing: Wanted[] = []
      const look = <V extends Json>({ name: model }: ReadModel<V>, key: string) => {
        const name = judging.rowName(model, key)
        const noted = rows.get(name)
        if (noted === undefined && !loaded.has(name)) missing.push({ model, key })
        // The cast holds: rows are kept by the name of their model, and only its own fold writes them.
        return (noted === undefined ? loaded.get(name) : noted.row) as Row<V> | undefined
      }
      const changes = judging.judge(batch, heads.get(batch.session_id), look, models)
      if (missing.length === 0) return changes
      await load(missing)
    }
  }

  /** Judges a batch, and notes its writes. */
  async function record(batch: Prepared): Promise<judging.Inscribed | Fault> {
    const changes = await judged(batch)
    if (changes instanceof Fault) return changes
    const held = await holderOf(batch, (claim) => rows.has(judging.rowName(claims.name, claim)))
    if (held !== undefined) return held
    const result = judging.inscribe(batch, heads.get(batch.session_id), ports.sha256)
    heads.set(batch.session_id, result.head)
    note(changes)
    inscribed.push(result)
    return result
  }

  function note(changes: readonly judging.Change[]) {
    for (const change of changes) rows.set(judging.rowName(change.model, change.key), change)
  }

  /** All writes in order. A statement for several rows that would write none is left out. */
  function writes(): readonly Write[] {
    if (inscribed.length === 0) return []
    const touched = [...new Set(inscribed.map(({ head }) => head.session_id))].sort()
    const headColumns = (wasThere: boolean) => {
      const some = touched.flatMap((id) => (isNew.has(id) === wasThere ? [] : [heads.get(id) as Head]))
      return columns(some, ['session_id', 'event_id', 'hash', 'sealed', 'archived'])
    }
    const records = inscribed.flatMap(({ head, records }) =>
      records.map((r) => ({ ...r, session_id: head.session_id })),
    )
    const all: readonly Write[] = [
      ['addSessions', ...headColumns(false)],
      ['moveHeads', ...headColumns(true)],
      ['addRunes', ...columns(records, ['session_id', 'event_id', 'header', 'payload', 'salt', 'hash'])],
      ...rowWrites(),
      ...ports.sideWrites(inscribed.flatMap(({ runes }) => runes)),
      ...later,
      ['notify', channel, ports.origin, touched],
    ]
    return all.filter(([, first]) => !Array.isArray(first) || first.length > 0)
  }

  function rowWrites(): readonly Write[] {
    const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
    const those = (isRow: boolean, wasThere: boolean) =>
      sorted.flatMap(([name, change]) =>
        (change.row !== undefined) === isRow && (loaded.get(name) !== undefined) === wasThere ? [change] : [],
      )
    return [
      ['removeRows', ...columns(those(false, true), ['model', 'key'])],
      ['changeRows', ...rowColumns(those(true, true))],
      ['addRows', ...rowColumns(those(true, false))],
    ]
  }

  return {
    /** The id of the transaction on the server, which tells whether it is over. */
    xid: transaction?.xid ?? '',
    connection,
    judge: judged,
    record,
    headOf: (session_id: string) => heads.get(session_id),
    /** The last rune: if it is found later, the transaction was committed. Undefined if it writes none. */
    witness: () => inscribed.at(-1)?.head,
    /** Writes rows without a check of their old values. */
    async replaceRows(changes: readonly judging.Change[]) {
      await load(changes)
      note(changes)
    },
    /** A statement for after the runes and rows are written. */
    also: (...write: Write) => void later.push(write),
    /** Sends all noted writes and the commit in one round trip. False: the server rolled back. */
    async commit(): Promise<boolean> {
      const written = writes().map(([name, ...values]) => connection.send(name, ...values))
      const committed = connection.commit()
      // The first failure is the cause; later ones only report that the transaction was aborted.
      const outcomes = await Promise.allSettled([...written, committed])
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
      return committed
    },
  }
}

/** The rows that a batch will read, as far as they are known before any is loaded. */
function wantedBy({ runes, expect, fence }: Prepared, models: readonly ReadModel[]): readonly Wanted[] {
  const wanted: Wanted[] = expect.map(([key]) => ({ model: subjects.name, key }))
  if (fence !== undefined) wanted.push({ model: epochs.name, key: fence.run_id })
  for (const { rune } of runes)
    for (const model of models) {
      const want = (key: string) => void wanted.push({ model: model.name, key })
      for (const key of model.keys(rune, want)) want(key)
    }
  return wanted
}

/** Items as arrays, one for each of these fields, for `unnest`. */
export function columns<T>(items: readonly T[], names: readonly (keyof T)[]): readonly unknown[][] {
  return names.map((name) => items.map((item) => item[name]))
}

/** Rows as the statements `addRows` and `changeRows` take them. */
export function rowColumns(changes: readonly judging.Change[]): readonly unknown[][] {
  const rows = changes.map(({ model, row }) => {
    const { key, tag, sort, value } = row as Row
    return { model, key, tag, sort: sort ?? Number.NEGATIVE_INFINITY, value: canonicalJson(value) }
  })
  return columns(rows, ['model', 'key', 'tag', 'sort', 'value'])
}

/** A row as its table has it: a missing `sort` is stored as the least number. */
export type StoredModelRow = StoredRow & { readonly sort: number }

/** Converts a stored row of a read model. */
export function readRow<V extends Json>({ key, tag, sort, value }: StoredModelRow): Row<V> {
  return { key, tag, sort: readSort(sort), value: JSON.parse(value) }
}

/** Converts the stored minimum back to `null`. */
export const readSort = (sort: number | null) => (sort === Number.NEGATIVE_INFINITY ? null : sort)

type Opening = { readonly session: number; readonly event_id: number; readonly header: string; readonly key: string }

const written = (key: string) => canonicalJson(key).slice(1, -1)

/** Reads the contracts that were opened with the keys of these batches. The query is sent with the others. */
async function claimsInLog(batches: readonly Prepared[], connection: Connection) {
  const keys = batches.flatMap(judging.claimedBy).map(({ idempotency_key }) => written(idempotency_key))
  const opened = keys.length === 0 ? [] : await connection.send<Opening>('openedContracts', keys)

  function contractsWith(idempotency_key: string) {
    const own = opened.filter(({ key }) => key === written(idempotency_key))
    const recordsOf = ({ session, event_id, header }: Opening) =>
      connection.send<StoredRecord>('contract', session, event_id, judging.subjectText(header))
    return Promise.all(own.map(recordsOf))
  }

  /** Why the log forbids a batch to claim its keys. A claim that this transaction changed is judged by its row. */
  return async (batch: Prepared, isChanged: (claim: string) => boolean): Promise<Fault | undefined> => {
    for (const { claim, idempotency_key } of judging.claimedBy(batch)) {
      if (isChanged(claim)) continue
      const held = judging.heldInLog(claim, await contractsWith(idempotency_key))
      if (held !== undefined) return held
    }
    return undefined
  }
}
