import type { Clock } from '../../runtime/ports.ts'
import { clientOptions } from './connection.ts'
import { Client } from './driver.ts'

/** How often the clock of the database is asked. Between, the monotonic clock of the process counts on. */
const sync_ms = 5_000
/** An answer that took longer says too little about when it was given. */
const slow_ms = 1_000
/** More than this between two machines should be looked at, though nothing here depends on it. */
export const noticeable_skew_ms = 1_000

const askNow = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now'

/** A clock that follows the clock of the database. */
export interface DatabaseClock {
  /** `now` is the clock of the database: all processes on a store decide by the same time. */
  readonly clock: Clock
  /** How far the clock of this machine is ahead of it, in milliseconds. */
  skew(): number
  stop(): void
}

interface Asked {
  query(text: string): Promise<{ readonly rows: readonly { readonly now: number }[] }>
}

/** The clock of the database, within half a round trip. The clock of this machine is not used. */
export async function openDatabaseClock(database: Asked, local: Clock): Promise<DatabaseClock> {
  let base = await ask()

  async function ask() {
    const sent = local.monotonic()
    const { rows } = await database.query(askNow)
    const took = local.monotonic() - sent
    return { now: rows[0]?.now ?? 0, monotonic: sent + took / 2, took }
  }

  const now = () => Math.round(base.now + local.monotonic() - base.monotonic)
  const timer = setInterval(() => {
    ask().then(
      (answer) => {
        if (answer.took < slow_ms) base = answer
      },
      () => {},
    )
  }, sync_ms).unref()

  return {
    clock: { now, monotonic: local.monotonic },
    skew: () => Math.round(local.now() - now()),
    stop: () => clearInterval(timer),
  }
}

/** How far the clock of this machine is ahead of the database's, in milliseconds. */
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
