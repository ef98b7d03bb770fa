import type { Socket } from 'node:net'
import type pg from 'pg'
import { clientOptions, connected, isConnectionLost, openSocket } from './connection.ts'
import { loadDriver } from './driver.ts'
import { lockOf } from './schema.ts'

/** A connection that a worker keeps for its whole life. */
export type Presence = ReturnType<typeof createPresence>

/** A connection that holds the session lock of a worker. The server frees the lock when the process dies. */
export function createPresence(url: string, worker: string, patience: number) {
  let current: Promise<pg.Client> | undefined
  let isClosed = false
  let socket: Socket | undefined
  let isUnref = false

  async function connect(): Promise<pg.Client> {
    const { Client } = await loadDriver()
    const client = new Client({
      ...clientOptions(url, patience),
      stream: () => {
        socket = openSocket(url)
        return socket
      },
      application_name: 'statewright worker',
    })
    client.on('error', () => {})
    await connected(client, `SELECT pg_advisory_lock_shared(${lockOf('$1::text')})`, [worker])
    if (isUnref) socket?.unref()
    if (isClosed) void client.end().catch(() => {})
    return client
  }

  function open(): Promise<pg.Client> {
    if (current !== undefined) return current
    const opened = connect()
    current = opened
    // A connection that ends without a query is noticed here.
    opened.then((client) => client.once('end', () => forget(opened))).catch(() => forget(opened))
    return opened
  }

  function forget(lost: Promise<pg.Client>) {
    if (current === lost) current = undefined
    void lost.then((client) => client.end()).catch(() => {})
  }

  /** An answer proves that the lock was held. Every query here may run twice: a lost connection costs one retry. */
  async function query<T extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    tries = 2,
  ): Promise<pg.QueryResult<T>> {
    if (isClosed) throw new Error('This worker has left.')
    const asked = open()
    try {
      return await (await asked).query<T>(text, [...values])
    } catch (error) {
      if (!isConnectionLost(error)) throw error
      forget(asked)
      if (tries <= 1) throw error
      return query<T>(text, values, tries - 1)
    }
  }

  return {
    query,
    /** Connects if the connection is lost. Sends nothing otherwise. */
    async keep() {
      if (!isClosed) await open()
    },
    /** The process may end while the connection is open. */
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
