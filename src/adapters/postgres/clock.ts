import type pg from 'pg'
import type { Clock } from '../../runtime/ports.ts'
import { clientOptions } from './connection.ts'
import { Client } from './driver.ts'

/** How often the clock of the database is asked. Between, the monotonic clock of the process counts on. */
const sync_ms = 5_000
/** A slower answer is dropped: when the server read its clock is too uncertain. */
const slow_ms = 1_000
/** A skew that deserves a warning, though nothing here depends on it. */
export const noticeable_skew_ms = 1_000

const askNow = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now'

/** A clock that follows the clock of the database. */
export type DatabaseClock = Awaited<ReturnType<typeof openDatabaseClock>>

/** The clock of the database, within half a round trip: all processes on a store decide by the same time. */
export async function openDatabaseClock(database: Pick<pg.Pool, 'query'>, local: Clock) {
  let base = await ask()

  async function ask() {
    const sent = local.monotonic()
    const { rows } = await database.query<{ now: number }>(askNow)
    const took = local.monotonic() - sent
    return { now: rows[0]?.now ?? 0, monotonic: sent + took / 2, took }
  }

  const now = () => Math.round(base.now + local.monotonic() - base.monotonic)
  const sync = async () => {
    const answer = await ask().catch(() => undefined)
    if (answer !== undefined && answer.took < slow_ms) base = answer
  }
  const timer = setInterval(() => void sync(), sync_ms).unref()

  return {
    clock: { now, monotonic: local.monotonic },
    /** How far the clock of this machine is ahead of the database's, in milliseconds. */
    skew: () => Math.round(local.now() - now()),
    stop: () => clearInterval(timer),
  }
}

/** The skew of this machine against a database that is not open yet. */
export async function measureSkew(url: string, local: Clock): Promise<number> {
  const client = new Client(clientOptions(url))
  await client.connect()
  try {
    const { skew, stop } = await openDatabaseClock(client, local)
    stop()
    return skew()
  } finally {
    await client.end()
  }
}
