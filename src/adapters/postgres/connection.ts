import { Socket } from 'node:net'
import type pg from 'pg'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { shownStore } from '../../kernel/printable.ts'
import { loadDriver } from './driver.ts'
import { type StatementName, statements } from './statements.ts'

/** One connection. Statements sent without waiting travel together and are answered in order. */
export interface Connection {
  send<T>(name: StatementName, ...values: readonly unknown[]): Promise<readonly T[]>
  /** A statement that is not worth preparing. */
  text<T>(sql: string, values?: readonly unknown[]): Promise<readonly T[]>
  /** Ends the transaction. False: the server undid it, because a statement in it had failed. */
  commit(): Promise<boolean>
  isOpen(): boolean
  /** Resolves when the connection is closed or broken. */
  readonly ended: Promise<void>
  end(): Promise<void>
}

/** How long the server may take to answer a statement, unless an option says otherwise. */
export const usual_answer_ms = 3_000
/** How long a client may leave a transaction idle. A frozen process holds its locks no longer than this. */
const idle_ms = 2_000
/** The server reports a statement that takes too long before the client gives up on the connection. */
export const grace_ms = 500

/**
 * Of every session: commits are on disk, nothing waits long, and a machine that is gone is noticed within 25 s. Each
 * look-up uses its index. The planner would scan a table that was small or without statistics when it made the plan.
 */
const sessionOptions = (answer_ms: number) =>
  Object.entries({
    synchronous_commit: 'on',
    client_min_messages: 'warning',
    statement_timeout: answer_ms,
    lock_timeout: answer_ms,
    idle_in_transaction_session_timeout: Math.min(idle_ms, answer_ms),
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    // A plan that cannot avoid a scan looks expensive enough to be compiled.
    jit: 'off',
  })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

const sockets = new Map<string, Set<Socket>>()

/** A socket to an address. `dropConnections` closes all sockets to one address. */
export function openSocket(url: string, own?: Set<Socket>): Socket {
  const socket = new Socket()
  const others = sockets.get(url) ?? new Set()
  sockets.set(url, others.add(socket))
  own?.add(socket)
  socket.once('close', () => {
    own?.delete(socket)
    others.delete(socket)
    if (others.size === 0) sockets.delete(url)
  })
  return socket
}

/** Gives up every connection to an address. Each would need its own timeout to notice that it is dead. */
export function dropConnections(url: string) {
  for (const socket of sockets.get(url) ?? []) socket.destroy()
}

/** Every wait is bounded. In pipeline mode a connection with an unanswered statement is closed. */
export function clientOptions(url: string, answer_ms = usual_answer_ms, settings = ''): pg.ClientConfig {
  return {
    connectionString: url,
    stream: () => openSocket(url),
    pipeline: true,
    options: `${sessionOptions(answer_ms)} ${settings}`,
    application_name: 'statewright',
    connectionTimeoutMillis: answer_ms,
    query_timeout: answer_ms + grace_ms,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  }
}

/** A pool that gives up all its connections when one is lost: each would cost its own timeout. */
export async function createPool(url: string, max: number, answer_ms?: number, settings = ''): Promise<pg.Pool> {
  const { Pool } = await loadDriver()
  const own = new Set<Socket>()
  const stream = () => openSocket(url, own)
  const pool = new Pool({ ...clientOptions(url, answer_ms, settings), stream, max })
  // A connection that dies is replaced by the pool; a query that uses it fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('release', (error) => {
    if (error instanceof Error && isConnectionLost(error)) for (const socket of own) socket.destroy()
  })
  releaseOnce(pool)
  return pool
}

/** The queue may release a connection twice when it breaks. The pool throws at that, and the process would end. */
function releaseOnce(pool: pg.Pool) {
  const connect = pool.connect.bind(pool)
  function connectTo(): Promise<pg.PoolClient>
  function connectTo(done: Parameters<typeof connect>[0]): void
  function connectTo(done?: Parameters<typeof connect>[0]) {
    if (done === undefined) return connect()
    connect((error, client, release) => {
      let isReleased = false
      done(error, client, (reason) => {
        if (isReleased) return
        isReleased = true
        release(reason)
      })
    })
  }
  pool.connect = connectTo
}

/** Opens one connection. */
export async function connect(url: string, answer_ms?: number): Promise<Connection> {
  const { Client } = await loadDriver()
  const socket = openSocket(url)
  const client = new Client({ ...clientOptions(url, answer_ms), stream: () => socket })
  let isHeld = false
  let open = true
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>()
  const close = () => {
    open = false
    hasEnded()
  }
  // The error reaches the query that waits for an answer. This listener only keeps it from being unhandled.
  client.on('error', close).on('end', close)
  await connected(client)
  /** Statements of one turn of the event loop leave in one packet. */
  function together() {
    if (isHeld) return
    isHeld = true
    socket.cork()
    process.nextTick(() => {
      isHeld = false
      socket.uncork()
    })
  }
  async function ask(query: pg.QueryConfig) {
    together()
    return client.query(query)
  }
  return {
    send: async (name, ...values) => (await ask({ name, text: statements[name], values: [...values] })).rows,
    text: async (sql, values = []) => (await ask({ text: sql, values: [...values] })).rows,
    commit: async () => (await ask({ text: statements.commit })).command === 'COMMIT',
    isOpen: () => open,
    ended,
    end: () => client.end().catch(() => {}),
  }
}

/** Connects, and runs the first statement of every such connection. A connection that fails is closed. */
export async function connected(client: pg.Client, first?: string, values?: unknown[]): Promise<void> {
  try {
    await client.connect()
    if (first !== undefined) await client.query(first, values)
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
}

/** Whether the store has this table. Some are made when the first worker joins. */
export async function hasTable(text: Connection['text'], name: string): Promise<boolean> {
  const [found] = await text<{ there: boolean }>(`SELECT to_regclass('statewright.${name}') IS NOT NULL AS there`)
  return found?.there === true
}

type DatabaseError = { readonly code?: string; readonly severity?: string; readonly message?: string }

/** The server did not answer, or is going away: the outcome of the statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '', severity } = error as DatabaseError
  if (!/^[0-9A-Z]{5}$/.test(code)) return true
  return code.startsWith('08') || code.startsWith('57P') || severity === 'FATAL' || severity === 'PANIC'
}

/** A statement got no answer within the client's timeout. */
export const isSilent = (error: unknown) => (error as DatabaseError).message === 'Query read timeout'

const hasCode = (error: unknown, codes: readonly string[]) => codes.includes((error as DatabaseError).code ?? '')

/** A lost race or a held lock. Nothing was written; the request may be accepted when it is judged again. */
export const isCollision = (error: unknown) => hasCode(error, ['23505', '40P01', '40001'])

/** The server cancelled a statement or a lock wait. Nothing was written; a retry may succeed. */
export const isTooSlow = (error: unknown) => hasCode(error, ['55P03', '57014'])

/** The cause of an error as a clause, for errors with an ordinary cause. */
export function causeOf(error: unknown): string {
  const { code = '', message = String(error) } = error as DatabaseError
  if (code === '53100') return 'the disk of the database is full'
  if (code === '25006') return 'the database may be read but not written'
  if (code === '42501') return `the database user lacks a permission (${message})`
  if (code === '3D000') return 'there is no such database'
  if (code.startsWith('28')) return 'the database refused the user or the password'
  return message || code
}

/** The fault for an error of the database. A fault is returned unchanged. */
export function unusable(error: unknown, store: string): Fault {
  if (error instanceof Fault) return error
  if (isConnectionLost(error)) return faults.store_unreachable({ store, cause: causeOf(error) }, { cause: error })
  return faults.store_unusable({ store, problem: `${causeOf(error)}.` }, { cause: error })
}

/** The parts of the address of a store. One that cannot be read is refused, and not shown: it may hold a password. */
export function readAddress(url: string): URL {
  if (URL.canParse(url)) return new URL(url)
  throw faults.bad_usage({
    problem:
      'The address of the PostgreSQL store cannot be read. Check its host and port, and percent-encode what is neither a letter nor a digit in user and password.',
    usage: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  })
}

/** An address for people, without its password. Refuses one that cannot be read. */
export function withoutPassword(url: string): string {
  readAddress(url)
  return shownStore(url)
}

/** A semaphore. Its wait is unbounded: a pool would count it as connecting, and report a busy database as lost. */
export function createSemaphore(places: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let free = places
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The slot is handed to the next waiter and is never free in between: no newcomer overtakes the waiters.
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
