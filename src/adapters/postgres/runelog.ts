import { accepted, faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { createBell, follow } from '../../runelog/follow.ts'
import { allModels, fingerprint } from '../../runelog/models.ts'
import type { Head, Ports, Runelog, RunelogOptions } from '../../runelog/port.ts'
import { prepareLong } from '../../runelog/prepare.ts'
import { createSegments } from '../../runelog/segment.ts'
import { type Connection, connect, isConnectionLost, isTooSlow, unusable, withoutPassword } from './connection.ts'
import { archiveIn, finishErasures, redactIn } from './keeping.ts'
import { createLane, reconnect } from './lane.ts'
import { listen } from './listener.ts'
import { createOwnership } from './ownership.ts'
import { createReader } from './reader.ts'
import { createReaders } from './readers.ts'
import type { Queued } from './schema.ts'
import type { StatementName } from './statements.ts'
import type { SideWrites, Transaction } from './transaction.ts'

/** A read that takes long has a connection for itself. */
const longReads = { connections: 4, together: 1 }
const shortReads = { connections: 2, together: 16 }
const isShort: ReadonlySet<StatementName> = new Set(['head', 'row', 'hash', 'hotForward', 'hotBackward'])

/** Options of a runelog on PostgreSQL. */
export interface PostgresOptions extends RunelogOptions {
  /** Where archived sessions are kept. Without it, nothing can be archived. */
  readonly segments?: string
  /** How many connections write at the same time. */
  readonly lanes?: number
  /** How long to wait for a database that is unreachable, in milliseconds. */
  readonly patience?: number
  /** How long the server may take to answer one statement, in milliseconds. A connection silent for longer is closed. */
  readonly answer_ms?: number
  /** Statements to write in the transaction of the runes, such as jobs and leases. */
  readonly sideWrites?: SideWrites
  /** Called with the effects that a commit of this process recorded as at work, before the commit is answered. */
  readonly begun?: (execution_ids: readonly string[]) => void
  /** Called after a commit of any process that queued jobs, with its sessions. Some calls may be lost. */
  readonly queued?: (queued: Queued, session_ids: readonly string[]) => void
}

/** The store for several processes or machines: row locks and unique keys of PostgreSQL separate them. */
export async function openPostgresRunelog(url: string, ports: Ports, options: PostgresOptions = {}) {
  const { patience = 10_000, lanes: laneCount = 1, answer_ms } = options
  const name = withoutPassword(url)
  const models = allModels(options.models)
  const segments = options.segments === undefined ? undefined : createSegments(options.segments)
  const keeping = { ...ports, redactor: options.redactor, models, segments }
  const bell = createBell()
  const origin = ports.random(8)
  const lanes: ReturnType<typeof createLane>[] = []
  const jobs = (queued: Queued, session_ids: readonly string[]) => options.queued?.(queued, session_ids)
  const moved = (session_id: string, event_id: number) => {
    if (lanes.length > 0) laneOf(session_id).outdate(session_id, event_id)
  }
  let poison: Fault | undefined
  let closed: { readonly fault: Fault; readonly done: Promise<void> } | undefined

  const ownership = createOwnership({ url, store: name, patience, models, segments })
  await ownership.prepare()

  const listener = await listen(url, origin, { ...bell, jobs, moved }, answer_ms)
  const connectReader = () => connect(url, answer_ms)
  const short = createReaders(connectReader, shortReads)
  const long = createReaders(connectReader, longReads)
  const poisoned = (fault: Fault) => {
    if (poison !== undefined) return
    poison = fault
    options.broken?.(fault)
    bell.ringAll()
  }
  const has = async (connection: Connection, { session_id, event_id, hash }: Head) => {
    const [rune] = await createReader(connection, segments).read(session_id, { after: event_id - 1, limit: 1 })
    return rune?.hash === hash
  }
  const lanePorts = {
    ...{ ...ports, url, answer_ms, patience, store: name, models, fingerprint: fingerprint(models), origin },
    sideWrites: options.sideWrites ?? (() => undefined),
    begun: (execution_ids: readonly string[]) => options.begun?.(execution_ids),
    committed(session_ids: readonly string[], queued: Queued | undefined) {
      if (queued !== undefined) jobs(queued, session_ids)
      bell.ring(session_ids)
    },
    has,
    poisoned,
  }
  // A redaction or an archiving keeps its transaction open while it writes files. No append waits for that.
  const aside = createLane(lanePorts)
  // Appends that arrive during a commit share the next one: a second connection would halve what they share.
  const hears = (isHeld: boolean) => void (closed === undefined && listener.cover(isHeld))
  lanes.push(...Array.from({ length: laneCount }, (_, i) => createLane(i === 0 ? { ...lanePorts, hears } : lanePorts)))

  function check() {
    const refused = closed?.fault ?? poison
    if (refused !== undefined) throw refused
  }

  /** A read can always be repeated, so a lost connection alone is no reason to fail. */
  async function ask<T>(readers: typeof short, read: (connection: Connection) => Promise<T>): Promise<T> {
    for (const deadline = performance.now() + patience; ; ) {
      check()
      try {
        return await readers.read(read)
      } catch (error) {
        // The store is closed while a read waits.
        check()
        const isLost = isConnectionLost(error)
        if (!(isLost || isTooSlow(error)) || performance.now() > deadline) throw unusable(error, name)
        if (isLost) await (await reconnect({ url, store: name, answer_ms }, deadline)).end()
      }
    }
  }

  const send: Connection['send'] = (statement, ...values) =>
    ask(isShort.has(statement) ? short : long, (connection) => connection.send(statement, ...values))
  const text: Connection['text'] = (sql, values) => ask(long, (connection) => connection.text(sql, values))
  const reader = createReader({ send, text }, segments)
  const { place: _place, whole: _whole, ...reads } = reader
  // Finishes erasures of a killed process. Files that cannot be removed now are retried at the next start.
  if (segments !== undefined) await finishErasures(send, segments).catch(() => {})

  /** A session always uses the same lane, so its appends keep their order. */
  function laneOf(session_id: string) {
    let sum = 0
    for (let i = 0; i < session_id.length; i++) sum = (sum * 31 + session_id.charCodeAt(i)) % 65_521
    return lanes[sum % lanes.length] as (typeof lanes)[number]
  }

  async function end() {
    await Promise.all([...lanes, aside].map((lane) => lane.close()))
    await listener.close()
    await Promise.all([short.end(), long.end()])
  }

  const read: Runelog['read'] = async (session_id, range = {}) => {
    const runes = await reads.read(session_id, range)
    if (range.backward !== true && range.before === undefined)
      laneOf(session_id).learn(session_id, range.after ?? 0, runes)
    return runes
  }

  const store: Runelog = {
    ...reads,
    read,
    async append(batch) {
      check()
      const prepared = await prepareLong(batch, keeping)
      check()
      return prepared instanceof Fault ? prepared : laneOf(batch.session_id).append(prepared)
    },
    follow: (session_id, after, signal) => follow({ read: store.read, bell }, session_id, after, signal),
    watch: bell.listen,
    async redact(session_id, event_id, reason, by = {}) {
      check()
      const asked = { session_id, event_id, reason }
      accepted(await aside.alone(session_id, (transaction) => redactIn(transaction, asked, by, keeping)))
      laneOf(session_id).forget([session_id])
      if (segments !== undefined) await finishErasures(send, segments)
    },
    async archive(session_id, by = {}) {
      check()
      if (segments === undefined)
        throw faults.store_unusable({ store: name, problem: 'it was opened without a folder for archived sessions.' })
      const work = (transaction: Transaction) => archiveIn(transaction, session_id, by, { ...keeping, segments })
      accepted(await aside.alone(session_id, work))
      await finishErasures(send, segments)
    },
    async rebuild() {
      check()
      return ownership.rebuild()
    },
    close() {
      closed ??= { fault: faults.store_closed({ store: name }), done: end() }
      bell.ringAll()
      return closed.done
    },
  }
  // `damages`: rows that do not follow from the log, as of one moment; other processes may write meanwhile.
  return { ...store, damages: ownership.damages }
}
