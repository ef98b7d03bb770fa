import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Ports } from '../../runelog/port.ts'
import { longText, othersTurn } from '../../runelog/slices.ts'
import { blobRef } from '../../runes/redaction.ts'
import { type Blobs, type Member, type SharedStore, sound } from '../../runtime/store.ts'
import { loadPeer } from '../peer.ts'
import { createPool, unusable, withoutPassword } from './connection.ts'
import { createDeltas } from './deltas.ts'
import type { Hear, Queue } from './jobs.ts'
import { type DatabaseClock, noticeable_skew_ms, openDatabaseClock } from './leases.ts'
import { createMember, type SharingOptions } from './member.ts'
import { jobsAndLeases } from './members.ts'
import { createResuming } from './resuming.ts'
import { openPostgresRunelog, type PostgresOptions } from './runelog.ts'
import { jobsSchema, sharedNumber, sharedSchema, tablesLock } from './schema.ts'

/** The log in PostgreSQL, with leases and a queue, so that many processes can work on it together. */
export async function openPostgresStore(url: string, ports: Ports, options: PostgresOptions, sharing: SharingOptions) {
  const { lease_ms } = sharing
  const queue = await loadPeer('graphile-worker')
  // A silent connection is given up while the lease lasts.
  const answer_ms = Math.max(2_000, Math.round(lease_ms * 0.6))
  const waiting = new Set<Hear>()
  const resuming = createResuming()
  const queued: Hear = (...told) => {
    for (const hear of waiting) hear(...told)
  }
  const begun = new Set<string>()
  const shared = {
    sideWrites: jobsAndLeases(resuming),
    queued,
    begun(execution_ids: readonly string[]) {
      for (const execution_id of execution_ids) begun.add(execution_id)
    },
  }
  const runelog = await openPostgresRunelog(url, ports, { answer_ms, ...options, ...shared })
  const pool = await createPool(url, 6, answer_ms)
  // Not synced: a job whose fetch or end is lost with the database runs again, and finds nothing to do.
  const queuePool = await createPool(url, 3, answer_ms, '-c synchronous_commit=off')
  try {
    await makeTables(pool, queue)
    const time = await openDatabaseClock(pool, sharing.clock)
    const skew_ms = time.skew()
    if (Math.abs(skew_ms) > noticeable_skew_ms)
      sharing.warn('the clock of this machine differs from the database clock; the database clock is used', { skew_ms })
    const member = () =>
      inSentences(
        createMember(url, pool, { ...sharing, queued: waiting, resuming, begun, queuePool }, queue),
        withoutPassword(url),
      )
    const deltas = createDeltas(url, pool, ports.random(8))
    return {
      runelog,
      blobs: postgresBlobs(pool),
      shared: share({ pools: [pool, queuePool], time, lease_ms, deltas }, member),
    }
  } catch (error) {
    await Promise.all([runelog.close(), pool.end(), queuePool.end()])
    throw unusable(error, withoutPassword(url))
  }
}

interface Shared {
  readonly pools: readonly pg.Pool[]
  readonly time: DatabaseClock
  readonly lease_ms: number
  readonly deltas: ReturnType<typeof createDeltas>
}

function share({ pools, time, lease_ms, deltas }: Shared, create: () => Member): SharedStore {
  const members = new Set<Member>()
  return {
    lease_ms,
    clock: time.clock,
    deltas,
    member() {
      const member = create()
      members.add(member)
      return member
    },
    async close() {
      time.stop()
      for (const member of members) member.abandon()
      await deltas.close()
      await Promise.all(pools.map((pool) => pool.end()))
    },
  }
}

/** A database that is lost while a worker starts is a fault with a sentence, not an error of the driver. */
function inSentences(member: Member, store: string): Member {
  const explained = (error: unknown) => Promise.reject(unusable(error, store))
  return {
    ...member,
    join: (name) => member.join(name).catch(explained),
    abandoned: () => member.abandoned().catch(explained),
    begin: (tasks, limit) => member.begin(tasks, limit).catch(explained),
  }
}

async function makeTables(pool: pg.Pool, { runMigrations }: Queue) {
  const { rows } = await pool.query<{ value: string }>(`SELECT value FROM statewright.meta WHERE name = 'shared'`)
  if (rows[0]?.value !== String(sharedNumber)) await makeShared(pool)
  // It checks without a lock whether there is anything to migrate.
  await runMigrations({ pgPool: pool, schema: jobsSchema, noHandleSignals: true })
}

/** Under a lock: `IF NOT EXISTS` alone does not keep two processes from making the same table at once. */
async function makeShared(pool: pg.Pool) {
  const client = await pool.connect()
  try {
    // In one round trip: no client holds the lock while it waits for the server.
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${tablesLock}); ${sharedSchema}
      INSERT INTO statewright.meta VALUES ('shared', '${sharedNumber}')
        ON CONFLICT (name) DO UPDATE SET value = excluded.value;
      COMMIT`)
  } finally {
    // Closed, not reused: the transaction may have failed.
    client.release(true)
  }
}

/** In a table, as bytes: unlike text they may hold anything. */
function postgresBlobs(pool: pg.Pool): Blobs {
  return {
    async keep(text) {
      const bytes = Buffer.from(text)
      if (text.length > longText) await othersTurn()
      const ref = blobRef(hash('sha256', bytes))
      const insert = 'INSERT INTO statewright.blob (ref, content) VALUES ($1, $2) ON CONFLICT DO NOTHING'
      await pool.query(insert, [ref, bytes])
      return ref
    },
    async fetch(ref) {
      const select = 'SELECT content FROM statewright.blob WHERE ref = $1'
      const [row] = (await pool.query<{ content: Buffer }>(select, [ref])).rows
      return row === undefined ? undefined : sound(ref, row.content)
    },
    async erase(refs) {
      await pool.query('DELETE FROM statewright.blob WHERE ref = ANY($1)', [refs])
    },
  }
}
