import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../../../src/adapters/postgres/runelog.ts'
import { hearingLock } from '../../../../src/adapters/postgres/schema.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import type { Source } from '../../../../src/runelog/port.ts'
import { created, plain } from '../../../support/drafts.ts'
import { ask, emptyDatabase } from '../../../support/postgres.ts'

async function world() {
  const { url, drop } = await emptyDatabase()
  const stores: Awaited<ReturnType<typeof openPostgresRunelog>>[] = []
  const wire = new pg.Client({ connectionString: url })
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await wire.end()
    await drop()
  })
  let notices = 0
  wire.on('notification', () => {
    notices += 1
  })
  await wire.connect()
  await wire.query('LISTEN statewright')
  return {
    async open(writes = true) {
      const store = await openPostgresRunelog(url, hostPorts)
      stores.push(store)
      const heard: Source[] = []
      store.watch((_, source) => void heard.push(source))
      const delta = () => store.append({ session_id, runes: [plain('turn.assistant_delta')] })
      const session_id = `ses_${stores.length}`
      if (writes) accepted(await store.append({ session_id, runes: [created(session_id)] }))
      return { heard, append: async () => accepted(await delta()) }
    },
    /** Ends the youngest connection that holds the lock of those who hear. */
    async cut() {
      const holders = `SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND locktype = 'advisory' AND objid = ${hearingLock} ORDER BY backend_start`
      const all = (await ask(url, holders)) as readonly { readonly pid: number }[]
      await ask(url, `SELECT pg_terminate_backend(${all.at(-1)?.pid})`)
    },
    /** The notices since the last call. A notice of a commit arrives before the answer of a later statement. */
    async notices() {
      await wire.query('SELECT 1')
      const seen = notices
      notices = 0
      return seen
    },
  }
}

test('PostgreSQL: a commit is announced if another process hears it, and not otherwise', async () => {
  const { open, notices } = await world()
  const left = await open()
  // Until the connection that writes has taken over the lock of the one that listens.
  await expect.poll(async () => [await left.append(), await notices()].at(-1)).toBe(0)
  const right = await open()
  await notices()
  await hears(right, left)
  expect(await notices()).toBe(1)
})

test('PostgreSQL: a process whose writing connection is lost is told so, and hears the next commit', async () => {
  const { cut, open } = await world()
  const [left, right] = [await open(), await open()]
  for (let lost = 0; lost < 3; lost++) {
    right.heard.length = 0
    await cut()
    await expect.poll(() => right.heard).toContain('lost')
    // No connection of it writes now.
    await hears(right, left)
    // One writes again.
    await right.append()
    await hears(right, left)
  }
})

test('PostgreSQL: a process that only reads hears each commit, also after its connection was lost', async () => {
  const { cut, open } = await world()
  const [left, right] = [await open(), await open(false)]
  await hears(right, left)
  await cut()
  await expect.poll(() => right.heard).toContain('lost')
  await hears(right, left)
})

type Process = Awaited<ReturnType<Awaited<ReturnType<typeof world>>['open']>>

async function hears(reader: Process, writer: Process) {
  reader.heard.length = 0
  await writer.append()
  await expect.poll(() => reader.heard).toContain('foreign')
}
