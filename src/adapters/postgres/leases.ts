import type pg from 'pg'
import type { Cancel, Clock, Timers } from '../../runtime/ports.ts'
import type { Instant, Lease } from '../../runtime/store.ts'
import { clientOptions } from './connection.ts'
import { loadDriver } from './driver.ts'

/** A run that this process holds. */
export interface HeldRun {
  readonly run_id: string
  readonly epoch: number
}

type Renew = (runs: readonly HeldRun[]) => Promise<readonly HeldRun[]>

type Held = HeldRun & { readonly ended: AbortController; since: Instant }

/**
 * The leases of this process. A lease lasts `lease_ms` from when its renewal was *sent*, so it ends here before it ends
 * in the database. Of two clocks the faster counts: one stops while a machine sleeps, the other can be set.
 */
export function createLeases(renewRuns: Renew, lease_ms: number, clock: Clock, timers: Timers) {
  const held = new Set<Held>()
  let rest: Cancel = () => {}

  const instant = (): Instant => ({ monotonic: clock.monotonic(), now: clock.now() })
  const left = ({ since }: Held) => lease_ms - Math.max(clock.monotonic() - since.monotonic, clock.now() - since.now)

  function end(lease: Held, why: string) {
    held.delete(lease)
    lease.ended.abort(new Error(`The lease on ${lease.run_id} ended: ${why}.`))
  }

  function look() {
    for (const lease of held) if (left(lease) <= 0) end(lease, 'it could not be renewed in time')
    rest()
    rest = held.size === 0 ? () => {} : timers.after(Math.max(1, Math.min(...[...held].map(left))), look)
  }

  return {
    instant,
    hold(run_id: string, epoch: number, since: Instant): Lease {
      const lease: Held = { run_id, epoch, ended: new AbortController(), since }
      held.add(lease)
      look()
      return {
        signal: lease.ended.signal,
        isValid() {
          if (left(lease) <= 0) end(lease, 'it has expired')
          return !lease.ended.signal.aborted
        },
        release: () => void held.delete(lease),
      }
    },
    /** Renews the leases. A lease that is not renewed was lost to another process, or released. */
    async renew() {
      // After a pause of the process the heartbeat may run before the timer that ends the leases.
      look()
      const asked = [...held]
      const sent = instant()
      const renewed = new Set((await renewRuns(asked)).map(nameOf))
      for (const lease of asked) {
        if (!held.has(lease)) continue
        if (renewed.has(nameOf(lease))) lease.since = sent
        else end(lease, 'another worker holds the run, or the run is over')
      }
      look()
    },
    stop: () => rest(),
  }
}

const nameOf = ({ run_id, epoch }: HeldRun) => `${run_id} ${epoch}`

/** How often the clock of the database is read. In between, the monotonic clock of the process continues. */
const sync_ms = 5_000
/** A slower answer is dropped: the time of the server's reading is too uncertain. */
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
  const { Client } = await loadDriver()
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
