import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import './postgres-setup.ts'

/** A new database on the server of this test run; it is dropped when the test file ends. */
export async function freshDatabase(): Promise<string> {
  const { url, drop } = await emptyDatabase()
  afterAll(drop)
  return url
}

/** The same, for a test that drops it itself. */
export async function emptyDatabase() {
  const server = inject('postgres')
  const name = `statewright_test_${randomBytes(6).toString('hex')}`
  await ask(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => ask(server, `DROP DATABASE ${name} WITH (FORCE)`) }
}

/** One statement on a connection of its own, past every rule of the store. */
export async function ask(url: string, sql: string, values: readonly unknown[] = []): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql, [...values])).rows
  } finally {
    await client.end()
  }
}
