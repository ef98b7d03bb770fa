import type pg from 'pg'
import type { Cancel, Clock, Timers } from '../../runtime/ports.ts'
import type { Instant, Lease } from '../../runtime/store.ts'
import { clientOptions } from './connection.ts'
import { loadDriver } from './driver.ts'
import type { Beat } from './heartbeat.ts'

/** A run that this process holds. */
export interface HeldRun {
  readonly run_id: string
  readonly epoch: number
}

/** A run and its epoch, as a key. */
export const nameOf = ({ run_id, epoch }: HeldRun) => `${run_id} ${epoch}`

type Held = HeldRun & { readonly ended: AbortController; readonly generation: number }

interface LeasePorts {
  readonly lease_ms: number
  /** The last heartbeat. It counts from when it was *sent*: a lease ends here before it ends in the database. */
  readonly last: () => Beat
  /** The clocks of the heartbeat. The faster one counts: one stops while a machine sleeps, the other can be set. */
  readonly clock: Clock
  readonly timers: Timers
  /** These runs are not held any more. */
  readonly ended: (runs: readonly HeldRun[]) => void
}

/** The leases of this process. All of them last as long as its heartbeat. Each look at one compares the clocks. */
export function createLeases({ lease_ms, last, clock, timers, ended }: LeasePorts) {
  const held = new Set<Held>()
  let rest: Cancel | undefined

  function left({ monotonic, now }: Beat) {
    return lease_ms - Math.max(clock.monotonic() - monotonic, clock.now() - now)
  }

  function problemOf({ generation }: Held, beat = last()) {
    if (beat.generation !== generation) return 'this worker has lost its runs'
    return left(beat) > 0 ? undefined : 'it could not be renewed in time'
  }

  function end(lease: Held, why: string) {
    held.delete(lease)
    lease.ended.abort(new Error(`The lease on ${lease.run_id} ended: ${why}.`))
  }

  function look() {
    const beat = last()
    const over = [...held].flatMap((lease) => {
      const problem = problemOf(lease, beat)
      return problem === undefined ? [] : [{ lease, problem }]
    })
    for (const { lease, problem } of over) end(lease, problem)
    if (over.length > 0) ended(over.map(({ lease }) => lease))
    if (held.size === 0) return
    rest?.()
    rest = timers.after(Math.max(1, left(beat)), () => {
      rest = undefined
      look()
    })
  }

  return {
    instant: (): Instant => ({ generation: last().generation }),
    hold(run_id: string, epoch: number, { generation }: Instant): Lease {
      const lease: Held = { run_id, epoch, ended: new AbortController(), generation }
      held.add(lease)
      if (rest === undefined || problemOf(lease) !== undefined) look()
      return {
        signal: lease.ended.signal,
        isValid() {
          if (held.has(lease) && problemOf(lease) !== undefined) look()
          return !lease.ended.signal.aborted
        },
        release: () => void held.delete(lease),
      }
    },
    /** Ends the leases that are over. */
    look,
    /** Whether a run that is taken now has a lease. */
    isAlive: () => left(last()) > 0,
    has: ({ run_id, epoch }: HeldRun) => [...held].some((lease) => lease.run_id === run_id && lease.epoch === epoch),
    stop: () => rest?.(),
  }
}

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
