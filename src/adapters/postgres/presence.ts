import type { Socket } from 'node:net'
import type pg from 'pg'
import { clientOptions, isConnectionLost, openSocket } from './connection.ts'
import { Client } from './driver.ts'

/** One connection that a worker keeps for as long as it lives. */
export interface Presence {
  /** Asked on the connection that holds the lock: an answer proves that the lock was held. */
  query<T extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<{ readonly rows: T[] }>
  /** The process may end while the connection is open. */
  unref(): void
  close(): void
}

/**
 * The key of a worker's session lock. The worker holds it shared, so that a new connection need not wait until the
 * server has noticed that the old one is dead. If it can be had alone, no connection of the worker is left.
 */
export const lockOf = (worker: string) => `hashtextextended(${worker}, 0)`

/**
 * The presence of a worker in the database: a session lock on a connection of its own, and its heartbeat on the same
 * connection. The server frees the lock when the process dies. A process that is only stopped keeps it.
 */
export function createPresence(url: string, worker: string, patience: number): Presence {
  let current: Promise<pg.Client> | undefined
  let isClosed = false
  let socket: Socket | undefined
  let isUnref = false

  async function connect(): Promise<pg.Client> {
    const client = new Client({
      ...clientOptions(url, patience),
      stream: () => {
        socket = openSocket(url)
        return socket
      },
      application_name: 'statewright worker',
    })
    // The query that is under way is told.
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query(`SELECT pg_advisory_lock_shared(${lockOf('$1::text')})`, [worker])
    } catch (error) {
      void client.end().catch(() => {})
      throw error
    }
    if (isUnref) socket?.unref()
    if (isClosed) void client.end().catch(() => {})
    return client
  }

  function forget(lost: Promise<pg.Client>) {
    if (current === lost) current = undefined
    void lost.then((client) => client.end()).catch(() => {})
  }

  /** What is asked here may be asked twice, so a lost connection costs one more try on a new one. */
  async function ask<T extends pg.QueryResultRow>(text: string, values: readonly unknown[], tries: number) {
    if (isClosed) throw new Error('This worker has left.')
    current ??= connect()
    const asked = current
    try {
      return await (await asked).query<T>(text, [...values])
    } catch (error) {
      if (!isConnectionLost(error)) throw error
      forget(asked)
      if (tries <= 1) throw error
      return ask<T>(text, values, tries - 1)
    }
  }

  return {
    query: <T extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => ask<T>(text, values, 2),
    unref() {
      isUnref = true
      socket?.unref()
    },
    close() {
      isClosed = true
      if (current !== undefined) forget(current)
    },
  }
}
