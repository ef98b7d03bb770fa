import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import * as judging from '../../runelog/judge.ts'
import { claims, epochs, type Subject, subjects } from '../../runelog/models.ts'
import type { Beginning, Head, Ports, ReadModel, Row } from '../../runelog/port.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import type { Rune } from '../../runes/rune.ts'
import { claimsInLog, noClaims } from './claims-in-log.ts'
import type { Connection } from './connection.ts'
import { type createKnown, type KnownSession, knows } from './known.ts'
import { bareRow, columns, type RowWrite, readRow, type StoredModelRow, storedRow } from './model-rows.ts'
import { endsAt, marks, otherModels, type Queued, storeLock } from './schema.ts'
import type { StatementName } from './statements.ts'

/** The ports of every transaction. */
export interface TransactionPorts extends Pick<Ports, 'sha256'> {
  readonly models: readonly ReadModel[]
  /** The models and their versions. The database must have the same. */
  readonly fingerprint: string
  readonly store: string
  readonly origin: string
  readonly sideWrites: SideWrites
  /** These tools are recorded as at work. Those of a commit that got no answer are not named. */
  readonly begun: (execution_ids: readonly string[]) => void
}

type Write = readonly [name: StatementName, ...values: unknown[]]

/**
 * Writes in addition to the runes and the rows that follow from them: the arguments of `share`, if there is any.
 * `atRest`: sessions in which nothing is left to do. `begins`: tools that are called next.
 */
export type SideWrites = (
  runes: readonly Rune[],
  atRest: ReadonlySet<string>,
  begins: readonly Beginning[],
) => { readonly values: readonly unknown[]; readonly queued: Queued | undefined } | undefined

/** One transaction over one or more sessions. */
export type Transaction = ReturnType<typeof beginTransaction>

type Known = ReturnType<typeof createKnown>

type Wanted = Pick<judging.Change, 'model' | 'key'>

/** The longest notice that PostgreSQL takes. */
const longestNotice = 7_900

/**
 * Judges batches and writes them. With `known`, rows are read without a lock, or not at all where they are known, and
 * the write checks that everything still is as it was read. Without it, the heads and rows are locked until the commit.
 */
export function beginTransaction(
  connection: Connection,
  batches: readonly Prepared[],
  ports: TransactionPorts,
  known?: Known,
) {
  const { models } = ports
  const heads = new Map<string, Head>()
  const ends = new Map<string, Head>()
  const loaded = new Map<string, Row | undefined>()
  /** Rows that neither a lock, the head of their session nor a unique key protects: the write compares them. */
  const supposed = new Map<string, Wanted>()
  const rows = new Map<string, judging.Change>()
  const used = new Map<string, Set<string>>()
  const inscribed: judging.Inscribed[] = []
  const openings: (judging.Claiming & Pick<Head, 'session_id' | 'event_id'>)[] = []
  const later: Write[] = []
  const atRest = new Set<string>()
  const begins: Beginning[] = []
  const sessionIds = [...new Set(batches.map(({ session_id }) => session_id))].sort()
  const sharing = new Map(models.flatMap(({ name, shared }) => (shared === undefined ? [] : [[name, shared] as const])))
  const isShared = ({ model, key }: Wanted) => sharing.get(model)?.(key) === true
  let hasBegun = false
  let queued: Queued | undefined

  function found(head: Head) {
    heads.set(head.session_id, head)
    ends.set(head.session_id, head)
  }
  /** The sessions that are known now. More may become known while this is under way; that does not belong to the heads found here. */
  const bases = new Map<string, KnownSession>()
  for (const session_id of sessionIds) {
    known?.catchUp(session_id)
    const base = known?.of(session_id)
    if (base === undefined) continue
    bases.set(session_id, base)
    found(base.head)
  }
  const opensSession = ({ session_id, runes: [first] }: Prepared) =>
    first?.rune.kind === 'session.created' && first.rune.subject_id === session_id
  /** A session that is not known is new if its batch opens it: the unique key refuses a second one. */
  const isNew = new Set(
    batches.flatMap((batch) =>
      known !== undefined && !heads.has(batch.session_id) && opensSession(batch) ? [batch.session_id] : [],
    ),
  )

  /** Whether a row need not be read: the lane knows it, or the batch makes it. */
  function isSupposed({ session_id, runes }: Prepared, { model, key }: Wanted): boolean {
    if (known === undefined) return false
    const name = judging.rowName(model, key)
    const base = bases.get(session_id)
    const isKnown = base !== undefined && knows(base, model, key)
    const isWhole = base?.isWhole === true
    const isPlaced = heads.has(session_id) && names(key, session_id)
    const isMade = runes.some(
      ({ rune }) =>
        ((rune.from === null || isWhole) && names(key, rune.subject_id)) ||
        (isPlaced && names(key, String(rune.event_id))),
    )
    if (!(isKnown || isMade || isNew.has(session_id))) return false
    loaded.set(name, base?.rows.get(name))
    // The head protects what is known. The unique key of a subject protects the rows that are made with it.
    if (!(isKnown || isMade) || isShared({ model, key })) supposed.set(name, { model, key })
    return true
  }

  function missingIn(batch: Prepared, wanted: readonly Wanted[]): readonly (readonly [string, Wanted])[] {
    return wanted.flatMap((row) => {
      const name = judging.rowName(row.model, row.key)
      return loaded.has(name) || isSupposed(batch, row) ? [] : [[name, row] as const]
    })
  }

  async function load(missing: ReadonlyMap<string, Wanted>): Promise<void> {
    const inOrder = [...missing].sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [name] of inOrder) loaded.set(name, undefined)
    const keys = columns(
      inOrder.map(([, row]) => row),
      ['model', 'key'],
    )
    const stored = known === undefined ? await lock(keys) : await look(keys)
    for (const row of stored) loaded.set(judging.rowName(row.model, row.key), readRow(row))
    if (known === undefined) return
    for (const [name, row] of inOrder)
      if (isShared(row) || !isOfOne(sessionIds, name, loaded.get(name))) supposed.set(name, row)
  }

  async function lock(keys: readonly unknown[][]): Promise<readonly (StoredModelRow & Wanted)[]> {
    const isFirst = !hasBegun
    hasBegun = true
    const [, , locked, stored] = await Promise.all([
      isFirst && connection.send('begin'),
      isFirst && connection.send('share', storeLock),
      isFirst ? connection.send<Head & { id: number }>('lockHeads', sessionIds) : [],
      connection.send<StoredModelRow & Wanted>('lockRows', ...keys),
    ])
    for (const { id: _id, ...head } of locked) found(head)
    return stored
  }

  async function look(keys: readonly unknown[][]): Promise<readonly (StoredModelRow & Wanted)[]> {
    const unknown = sessionIds.filter((id) => !heads.has(id) && !isNew.has(id))
    const stored = await connection.send<StoredModelRow & Wanted>('look', unknown, ...keys)
    for (const { model, key, tag, sort, value } of stored)
      if (model === '') found({ session_id: key, event_id: sort, hash: tag ?? '', ...JSON.parse(value) })
    return stored.filter(({ model }) => model !== '')
  }

  const next = new Map<string, number>()
  /** Numbers the runes as far as it is known. A row of a rune that is recorded now cannot exist. */
  function place({ session_id, runes }: Prepared) {
    let event_id = next.get(session_id) ?? heads.get(session_id)?.event_id ?? 0
    for (const { rune } of runes) rune.event_id = ++event_id
    next.set(session_id, event_id)
  }

  async function prepareAll() {
    const missing = new Map(
      batches.flatMap((batch) => {
        const isKnown = heads.has(batch.session_id) || isNew.has(batch.session_id)
        place(batch)
        const wanted = wantedBy(batch, models)
        if (isKnown || known === undefined) return missingIn(batch, wanted)
        const ahead = nearby(batch, models)
        used.set(batch.session_id, new Set(ahead.map(({ model, key }) => judging.rowName(model, key))))
        return missingIn(batch, [...wanted, ...ahead])
      }),
    )
    const claimed = batches.some((batch) => judging.claimedBy(batch).length > 0)
    const isAllKnown = sessionIds.every((id) => heads.has(id) || isNew.has(id))
    const loading = known !== undefined && missing.size === 0 && isAllKnown ? undefined : load(missing)
    const [claimsOf] = await Promise.all([claimed ? claimsInLog(batches, connection) : noClaims, loading])
    return claimsOf
  }
  let prepared: ReturnType<typeof prepareAll> | undefined

  async function judged(batch: Prepared): Promise<readonly judging.Change[] | Fault> {
    prepared ??= prepareAll()
    await prepared
    const touched = used.get(batch.session_id) ?? new Set()
    used.set(batch.session_id, touched)
    for (;;) {
      const missing: Wanted[] = []
      const look = <V extends Json>({ name: model }: ReadModel<V>, key: string) => {
        const name = judging.rowName(model, key)
        touched.add(name)
        const noted = rows.get(name)
        if (noted === undefined && !loaded.has(name) && !isSupposed(batch, { model, key })) missing.push({ model, key })
        // The cast holds: rows are kept by the name of their model, and only its own fold writes them.
        return (noted === undefined ? loaded.get(name) : noted.row) as Row<V> | undefined
      }
      const changes = judging.judge(batch, heads.get(batch.session_id), look, models)
      if (missing.length === 0) return changes
      await load(new Map(missingIn(batch, missing)))
    }
  }

  /** Judges a batch, and notes its writes. */
  async function record(batch: Prepared): Promise<judging.Inscribed | Fault> {
    const changes = await judged(batch)
    if (changes instanceof Fault) return changes
    const holderOf = (await prepared) ?? noClaims
    const held = await holderOf(batch, (claim) => rows.has(judging.rowName(claims.name, claim)))
    if (held !== undefined) return held
    // The writer did not see what was recorded since. That may be work.
    const isAtRest = batch.restsAfter !== undefined && batch.restsAfter === heads.get(batch.session_id)?.event_id
    if (isAtRest) atRest.add(batch.session_id)
    begins.push(...(batch.begins ?? []))
    const result = judging.inscribe(batch, heads.get(batch.session_id), ports.sha256)
    heads.set(batch.session_id, result.head)
    note(changes)
    inscribed.push(result)
    const { session_id, event_id } = result.head
    for (const claiming of judging.claimedBy(batch)) openings.push({ ...claiming, session_id, event_id })
    return result
  }

  function note(changes: readonly judging.Change[]) {
    for (const change of changes) rows.set(judging.rowName(change.model, change.key), change)
  }

  const touched = () => [...new Set(inscribed.map(({ head }) => head.session_id))].sort()

  /** The write of everything noted: one statement, which is a transaction by itself if none was begun. */
  function writing(): Write {
    const sessions = touched()
    const numbers = new Map(sessions.map((session_id, i) => [session_id, i + 1]))
    const moves = sessions.map((session_id) => {
      const end = ends.get(session_id)
      return { ...(heads.get(session_id) as Head), old_event: end?.event_id ?? 0, old_hash: end?.hash ?? '' }
    })
    const home = (session_id: string) => numbers.get(session_id)
    const records = inscribed.map(({ head, record }) => ({ ...record, home: home(head.session_id) }))
    const opened = openings.map((opening) => ({ ...opening, home: home(opening.session_id) }))
    const side = ports.sideWrites(
      inscribed.flatMap(({ runes }) => runes),
      atRest,
      begins,
    )
    queued = side?.queued
    const values = [
      ports.fingerprint,
      ...columns(moves, ['session_id', 'old_event', 'old_hash', 'event_id', 'hash', 'sealed', 'archived']),
      ...columns(records, ['home', 'event_id', 'header', 'payload', 'salt', 'hash']),
      ...columns(opened, ['idempotency_key', 'home', 'event_id', 'execution_id']),
      ...columns(rowWrites(), ['sign', 'model', 'key', 'tag', 'sort', 'value']),
      notices(
        `${ports.origin}${queued === undefined ? '' : marks[queued]}`,
        sessions.map((id) => `${id}${endsAt}${heads.get(id)?.event_id}`),
      ),
    ]
    return side === undefined ? ['record', ...values] : ['recordAndShare', ...values, ...side.values]
  }

  function rowWrites(): readonly RowWrite[] {
    const written = [...rows].map(([name, change]): readonly [string, RowWrite | undefined] => {
      const { model, key, row } = change
      const wasThere = loaded.get(name) !== undefined
      if (row !== undefined) return [name, { sign: wasThere ? '~' : '+', ...storedRow(model, row) }]
      return [name, wasThere ? { sign: '-', ...bareRow, model, key } : undefined]
    })
    const compared = [...supposed].flatMap(([name, { model, key }]): (readonly [string, RowWrite])[] => {
      const row = loaded.get(name)
      // The unique key compares a row that is added.
      if (row === undefined && rows.get(name)?.row !== undefined) return []
      return [[name, { sign: '=', ...bareRow, model, key, value: row === undefined ? null : canonicalJson(row.value) }]]
    })
    // Compared before it is written.
    return [...compared, ...written]
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .flatMap(([, write]) => write ?? [])
  }

  /** The reads and writes of this transaction, for the next one on this lane. */
  function remember() {
    for (const session_id of touched()) {
      const own = used.get(session_id) ?? new Set()
      const now = new Map<string, Row | undefined>()
      for (const name of own) {
        const noted = rows.get(name)
        const row = noted === undefined ? loaded.get(name) : noted.row
        if (row === undefined || isOfOne([session_id], name, row)) now.set(name, row)
      }
      known?.keep(heads.get(session_id) as Head, now, bases.get(session_id), isNew.has(session_id))
    }
  }

  return {
    connection,
    judge: judged,
    record,
    /** Locks and reads what the batches need, before any other statement is sent. */
    async begin() {
      prepared ??= prepareAll()
      await prepared
    },
    headOf: (session_id: string) => heads.get(session_id),
    /** The last rune: if it is found later, the transaction was committed. Undefined if it writes none. */
    witness: () => inscribed.at(-1)?.head,
    /** A row that was read or known may be outdated by now, so a refusal that follows from it does not count. */
    reliesOnKnown: () => known !== undefined,
    /** It queued jobs: the workers look into the queue. */
    queued: () => queued,
    hasBegun: () => hasBegun,
    /** Writes rows without a check of their old values. */
    async replaceRows(batch: Prepared, changes: readonly judging.Change[]) {
      const missing = missingIn(batch, changes)
      if (missing.length > 0) await load(new Map(missing))
      note(changes)
    },
    /** A statement for after the runes and rows are written. */
    also: (...write: Write) => void later.push(write),
    /** Sends all noted writes and the commit in one round trip. False: the server rolled back. */
    async commit(): Promise<boolean> {
      const writes = inscribed.length === 0 ? [] : [writing(), ...later]
      const written = writes.map(([name, ...values]) => connection.send<{ begun?: readonly string[] }>(name, ...values))
      const committed = hasBegun ? connection.commit() : Promise.resolve(true)
      // The first failure is the cause; later ones only report that the transaction was aborted.
      const outcomes = await Promise.allSettled([...written, committed])
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw explained(outcome.reason, ports.store)
      if (await committed) remember()
      const [answer] = (await written[0]) ?? []
      if (answer?.begun !== undefined) ports.begun(answer.begun)
      return committed
    },
  }
}

function explained(error: unknown, store: string): unknown {
  if ((error as { code?: string }).code !== otherModels) return error
  const problem = 'another process has rebuilt its read models in another version; stop that one or upgrade this one.'
  return faults.store_unusable({ store, problem })
}

/** One notice for as many sessions as fit, each with its end. */
function notices(origin: string, ends: readonly string[]): readonly string[] {
  const all: string[] = []
  for (const end of ends) {
    const last = all.at(-1)
    if (last === undefined || last.length + end.length >= longestNotice) all.push(`${origin} ${end}`)
    else all[all.length - 1] = `${last} ${end}`
  }
  return all
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

/**
 * The rows of the subjects that a batch names. The next batches of the session read some of them, and a session that
 * is not known costs a read anyway.
 */
function nearby({ session_id, runes, expect }: Prepared, models: readonly ReadModel[]): readonly Wanted[] {
  const ids = new Set([session_id, ...expect.map(([id]) => id)])
  for (const { rune } of runes) for (const id of [rune.agent_id, rune.run_id]) if (id !== undefined) ids.add(id)
  return models.flatMap(({ name, near = () => [] }) => [...ids].flatMap(near).map((key) => ({ model: name, key })))
}

/** Whether the heads of these sessions protect a row: that of a subject is protected by the head of the subject's session. */
function isOfOne(session_ids: readonly string[], name: string, row: Row | undefined): boolean {
  if (!name.startsWith(judging.rowName(subjects.name, ''))) return true
  const { session_id } = Object(row?.value) as Partial<Subject>
  return session_id !== undefined && session_ids.includes(session_id)
}

/** Whether a key is an id, or has it as a part, such as `of exe_1` or `ses_1/0`. */
const names = (key: string, id: string | undefined) =>
  id !== undefined && (key === id || (key.includes(id) && key.split(/[ /]/).includes(id)))
