import { expect, test } from 'vitest'
import { ask, freshDatabase } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres-server.ts'

test('the tests run on a real PostgreSQL that syncs its writes', async () => {
  const url = await freshDatabase()
  expect(
    await ask(url, `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits`),
  ).toEqual([{ fsync: 'on', commits: 'on' }])
})

test('a server that crashes comes back with what was committed', async () => {
  const server = await startPostgres()
  try {
    await ask(server.url, 'CREATE TABLE kept (n int)')
    await ask(server.url, 'INSERT INTO kept VALUES (7)')
    const [before] = (await ask(server.url, 'SELECT pg_postmaster_start_time()::text AS at')) as { at: string }[]
    await server.crashAndRestart()
    const [after] = (await ask(server.url, 'SELECT pg_postmaster_start_time()::text AS at')) as { at: string }[]
    expect(after?.at).not.toBe(before?.at)
    expect(await ask(server.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }])
  } finally {
    await server.stop()
  }
})
