import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { Runelog } from '../../runelog/port.ts'
import type { Ports } from '../../runelog/ports.ts'
import type { Blobs } from '../../runtime/blobs.ts'
import type { Member, SharedStore } from '../../runtime/shared-store.ts'
import { jobsAndLeases } from './beside.ts'
import { postgresBlobs } from './blobs.ts'
import { clientOptions } from './connection.ts'
import { createMember, type SharingOptions } from './member.ts'
import { openPostgresRunelog, type PostgresOptions } from './runelog.ts'
import { jobsSchema, sharedSchema, tablesLock } from './shared-schema.ts'

export interface PostgresStore {
  readonly runelog: Runelog
  readonly blobs: Blobs
  readonly shared: SharedStore
}

/** The log in PostgreSQL, with leases and a queue beside it, so that many processes can work on it together. */
export async function openPostgresStore(
  url: string,
  ports: Ports,
  options: PostgresOptions,
  sharing: SharingOptions,
): Promise<PostgresStore> {
  const { lease_ms } = sharing
  const runelog = await openPostgresRunelog(url, ports, { ...options, beside: jobsAndLeases(lease_ms) })
  const pool = ownPool(url, 6)
  try {
    await makeTables(pool)
  } catch (error) {
    await Promise.all([runelog.close(), pool.end()])
    throw error
  }
  const shared = share(url, pool, sharing)
  return { runelog, blobs: postgresBlobs(pool), shared }
}

function share(url: string, pool: pg.Pool, sharing: SharingOptions): SharedStore {
  const members = new Set<Member>()
  return {
    lease_ms: sharing.lease_ms,
    member() {
      const member = createMember(url, pool, sharing)
      members.add(member)
      return member
    },
    async close() {
      for (const member of members) member.abandon()
      await pool.end()
    },
  }
}

function ownPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ ...clientOptions(url), max })
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
