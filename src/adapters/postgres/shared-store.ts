import { setTimeout as delay } from 'node:timers/promises'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { Runelog } from '../../runelog/port.ts'
import type { Ports } from '../../runelog/ports.ts'
import type { Blobs } from '../../runtime/blobs.ts'
import type { Clock, Timers } from '../../runtime/ports.ts'
import type { SharedStore, Tasks } from '../../runtime/shared-store.ts'
import { jobsAndLeases } from './beside.ts'
import { postgresBlobs } from './blobs.ts'
import { clientOptions } from './connection.ts'
import { every } from './every.ts'
import { type Jobs, startJobs } from './jobs.ts'
import { createLeases } from './leases.ts'
import { createMembers } from './members.ts'
import { openPostgresRunelog, type PostgresOptions } from './runelog.ts'
import { jobsSchema, sharedSchema, tablesLock } from './shared-schema.ts'

export interface SharingOptions {
  /** How long a run may go without a sign of life from its worker. */
  readonly lease_ms: number
  readonly clock: Clock
  readonly timers: Timers
  readonly warn: (message: string, details: object) => void
}

export interface PostgresStore {
  readonly runelog: Runelog
  readonly blobs: Blobs
  readonly shared: SharedStore
}

/** How often those are looked for whose wake was lost. */
const overlooked_ms = 30_000

/** The log in PostgreSQL, with leases and a queue beside it: any number of processes work on it together. */
export async function openPostgresStore(
  url: string,
  ports: Ports,
  options: PostgresOptions,
  sharing: SharingOptions,
): Promise<PostgresStore> {
  const { lease_ms } = sharing
  const runelog = await openPostgresRunelog(url, ports, { ...options, beside: jobsAndLeases(lease_ms) })
  const pool = ownPool(url, 6)
  // On a connection of its own: whatever the queue is busy with, a lease is renewed in time or given up.
  const beats = ownPool(url, 1, Math.max(500, lease_ms / 3))
  try {
    await makeTables(pool)
  } catch (error) {
    await Promise.all([runelog.close(), pool.end(), beats.end()])
    throw error
  }
  const shared = share(pool, beats, sharing)
  return { runelog, blobs: postgresBlobs(pool), shared }
}

function share(pool: pg.Pool, beats: pg.Pool, { lease_ms, clock, timers, warn }: SharingOptions): SharedStore {
  const members = createMembers(pool, lease_ms)
  const heart = createMembers(beats, lease_ms)
  const leases = createLeases(heart.renew, lease_ms, clock, timers)
  const stops: (() => Promise<void>)[] = []
  let worker = ''
  let jobs: Jobs | undefined

  async function beat() {
    await heart.register(worker, jobs?.id ?? null)
    await leases.renew()
  }

  async function scan(tasks: Tasks) {
    await members.bury()
    const failed = (error: unknown) => warn('a run could not be put back', { error: String(error) })
    await Promise.all((await members.abandoned()).map((run) => tasks.abandoned(run).catch(failed)))
  }

  const regularly = (what: string, ms: number, act: () => Promise<unknown>) =>
    stops.push(every(ms, act, (error) => warn(`${what} failed`, { error: String(error) })))

  return {
    lease_ms,
    leases,

    async join(name) {
      worker = name
      const joined = await heart.join(name)
      regularly('renewing leases', lease_ms / 3, beat)
      return joined
    },

    async begin(tasks, limit) {
      await scan(tasks)
      await members.wakeOverlooked(0)
      jobs = startJobs(pool, tasks, limit, warn)
      await beat()
      regularly('looking for lost workers', lease_ms / 2, () => scan(tasks))
      regularly('looking for lost wakes', overlooked_ms, () => members.wakeOverlooked())
    },

    async end() {
      await jobs?.stop()
    },

    async leave() {
      await Promise.all(stops.splice(0).map((stop) => stop()))
      leases.stop()
      return worker === '' ? [] : members.leave(worker)
    },

    async quiet() {
      while (!(await members.isQuiet())) await delay(10)
    },

    async close() {
      await Promise.all([pool.end(), beats.end()])
    },
  }
}

function ownPool(url: string, max: number, patience?: number): pg.Pool {
  const limits = patience === undefined ? {} : { connectionTimeoutMillis: patience, query_timeout: patience }
  const pool = new pg.Pool({ ...clientOptions(url), max, ...limits })
  // A connection that dies is replaced by the pool, and who was using it is told by his query.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

async function makeTables(pool: pg.Pool) {
  const client = await pool.connect()
  try {
    // One after the other: `IF NOT EXISTS` alone does not keep two from making the same table at once.
    await client.query('SELECT pg_advisory_lock($1)', [tablesLock])
    await client.query(sharedSchema)
    await runMigrations({ pgPool: pool, schema: jobsSchema, noHandleSignals: true })
  } finally {
    // It goes with the connection, and the lock with it.
    client.release(true)
  }
}
