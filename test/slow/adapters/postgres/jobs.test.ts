import { expect, onTestFinished, test } from 'vitest'
import { loadPeer } from '../../../../src/adapters/peer.ts'
import { createPool } from '../../../../src/adapters/postgres/connection.ts'
import { startJobs } from '../../../../src/adapters/postgres/jobs.ts'
import { createResuming } from '../../../../src/adapters/postgres/resuming.ts'
import { jobsSchema } from '../../../../src/adapters/postgres/schema.ts'
import type { Tasks } from '../../../../src/runtime/store.ts'
import { freshDatabase } from '../../../support/postgres.ts'

const url = await freshDatabase()
const tasks: Tasks = {
  run: async () => 'seen',
  deadline: async () => 'applied',
  session: async () => [],
  abandoned: async () => {},
}

test('PostgreSQL: two queries of the queue at once share a connection, and return it', async () => {
  const library = await loadPeer('graphile-worker')
  const pool = await createPool(url, 6)
  await library.runMigrations({ pgPool: pool, schema: jobsSchema })
  let connections: typeof pool | undefined
  const queue: typeof library = {
    ...library,
    runTaskList(options, list, given) {
      connections = given
      return library.runTaskList(options, list, given)
    },
  }
  const ports = { queue, queuePool: pool, warn: () => {}, replaced: () => {}, queued: new Set<never>() }
  const jobs = startJobs(pool, tasks, 1, { ...ports, resuming: createResuming() })
  onTestFinished(async () => {
    await jobs.stop()
    await pool.end()
  })
  const client = await connections?.connect()
  const pids = await Promise.all([1, 2].map(() => client?.query({ text: 'SELECT pg_backend_pid() AS pid' })))
  client?.release()
  expect(pids[0]?.rows).toEqual(pids[1]?.rows)
  await expect.poll(() => pool.totalCount - pool.idleCount, { timeout: 5_000 }).toBe(0)
})
