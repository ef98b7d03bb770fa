import pg from 'pg'
import { faults } from '../../faults/catalogue.ts'
import type { Fault } from '../../faults/fault.ts'
import { type StatementName, statements } from './statements.ts'

export type Rows<T> = Promise<readonly T[]>

/** One connection. Statements sent without waiting travel together and are answered in order. */
export interface Connection {
  send<T>(name: StatementName, ...values: readonly unknown[]): Rows<T>
  /** A statement that is not worth preparing. */
  text<T>(sql: string, values?: readonly unknown[]): Rows<T>
  /** Ends the transaction. False: the server undid it, because a statement in it had failed. */
  commit(): Promise<boolean>
  isOpen(): boolean
  end(): Promise<void>
}

/** Connection parameters for every session: an acknowledged commit is on disk, whatever the server's default is. */
const sessionOptions = '-c synchronous_commit=on -c client_min_messages=warning'

export function clientOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    options: sessionOptions,
    application_name: 'statewright',
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  }
}

export async function connect(url: string): Promise<Connection> {
  const client = new pg.Client({ ...clientOptions(url), pipeline: true })
  let open = true
  // The error reaches whoever waits for an answer; this one only keeps it from being nobody's.
  client.on('error', () => {
    open = false
  })
  client.on('end', () => {
    open = false
  })
  await client.connect()

  const send = <T>(name: StatementName, ...values: readonly unknown[]) =>
    client.query({ name, text: statements[name], values: [...values] }).then(({ rows }) => rows as readonly T[])
  return {
    send,
    text: async (sql, values = []) => (await client.query(sql, [...values])).rows,
    commit: async () => (await client.query(statements.commit)).command === 'COMMIT',
    isOpen: () => open,
    end: () => client.end().catch(() => {}),
  }
}

interface DatabaseError {
  readonly code?: string
  readonly severity?: string
  readonly message?: string
}

/** The server did not answer, or said that it is going away: what was under way may or may not have happened. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '', severity } = error as DatabaseError
  if (!/^[0-9A-Z]{5}$/.test(code)) return true
  return code.startsWith('08') || code.startsWith('57P') || severity === 'FATAL' || severity === 'PANIC'
}

/** Another writer was faster, or stood in the way. Nothing was written; judged anew, the request may still be right. */
export function isCollision(error: unknown): boolean {
  const { code } = error as DatabaseError
  return code === '23505' || code === '40P01' || code === '40001'
}

/** What went wrong, in a clause, for those errors that have an ordinary cause. */
export function causeOf(error: unknown): string {
  const { code = '', message = String(error) } = error as DatabaseError
  if (code === '53100') return 'the disk of the database is full'
  if (code === '25006') return 'the database may be read but not written'
  if (code === '42501') return `the database user lacks a permission (${message})`
  if (code === '3D000') return 'there is no such database'
  if (code.startsWith('28')) return 'the database refused the user or the password'
  return message || code
}

export function unusable(error: unknown, store: string): Fault {
  if (isConnectionLost(error)) return faults.store_unreachable({ store, cause: causeOf(error) }, { cause: error })
  return faults.store_unusable({ store, problem: `${causeOf(error)}.` }, { cause: error })
}

/** An address for people: never with the password. */
export function withoutPassword(url: string): string {
  const address = new URL(url)
  address.password = ''
  address.search = ''
  return address.href
}
