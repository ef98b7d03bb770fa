import { expect, test } from 'vitest'
import { ask, freshDatabase } from '../../../support/postgres.ts'
import { startPostgres } from '../../../support/postgres-server.ts'

test('harness: the tests run on a real PostgreSQL, each file in a database of its own', async () => {
  const [one, other] = [await freshDatabase(), await freshDatabase()]
  await ask(one, 'CREATE TABLE mine (n int)')
  expect(await ask(one, `SELECT to_regclass('mine') IS NOT NULL AS there`)).toEqual([{ there: true }])
  expect(await ask(other, `SELECT to_regclass('mine') IS NOT NULL AS there`)).toEqual([{ there: false }])
})

test('harness: a server that crashes comes back with what was committed', async () => {
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
