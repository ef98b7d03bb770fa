import { existsSync, readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { clientOptions, createPool } from '../../../src/adapters/postgres/connection.ts'
import { examine } from '../../../src/app/examine.ts'
import { closeStore, openStore } from '../../../src/app/open-store.ts'
import { concurrently, whenFinished } from '../../support/concurrent.ts'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, freshDatabase } from '../../support/postgres.ts'
import { begunPath, readWitness } from '../../support/worker-agents.ts'
import { createWorkplace } from '../../support/workplace.ts'

const lease_ms = 2_000

concurrently(
  'F-104 open: a worker that is frozen in a transaction does not stop appends when another process starts',
  async () => {
    // GIVEN a worker that is stopped while it writes: its transaction stays open, and holds what every writer holds
    const { url, sw, start } = await createWorkplace({ leaseMs: lease_ms })
    const frozen = await start(4, { stop_in_transaction: true })
    const first = await sw.runs.start({ agent: 'payer', input: 1 })
    await frozen.until((s): s is { said: 'frozen' } => s.said === 'frozen')
    await eventually('the database sees it', async () => {
      const idle = await ask(
        url,
        `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction' AND application_name = 'statewright'`,
      )
      return idle.length > 0 || undefined
    })
    // WHEN another process starts, while others go on writing
    const began = performance.now()
    const opened = openStore(url, { leaseMs: lease_ms, warn: () => {} })
    await sw.sessions.create({ agent: 'payer' })
    const took = performance.now() - began
    whenFinished(async () => closeStore(await opened))
    // THEN neither waits for the frozen one
    await opened
    expect(took).toBeLessThan(lease_ms)
    // AND what it held is free before long: its run goes on elsewhere
    await start(4)
    await eventually(
      'its session can be written to',
      async () => (await sw.inbox.list())[0] ?? ((await sw.runs.show(first.runId)).status === 'succeeded' || undefined),
    )
    const held = performance.now() - began
    console.log(
      `an append took ${Math.round(took)} ms beside a frozen writer; its run was taken up after ${Math.round(held)} ms`,
    )
  },
)

concurrently(
  'F-105 connections: the only worker goes on within its lease when every connection is half-open',
  async () => {
    const database = await freshDatabase()
    const proxy = await startCuttingProxy(database)
    whenFinished(() => proxy.close())
    const lease = 5_000
    // GIVEN the only worker, with all its connections through a proxy, and work that is done
    const { sw, start } = await createWorkplace({ leaseMs: lease }, database)
    const worker = await start(4, { url: proxy.url })
    await (await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })).result()
    const before = proxy.connections()
    expect(before).toBeGreaterThan(3)
    // WHEN the connections that are open swallow every byte, and stay open
    proxy.swallow()
    const began = performance.now()
    const run = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
    // THEN it is worked on over new ones
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const took = Math.round(performance.now() - began)
    console.log(`${before} half-open connections: the next run was over after ${took} ms`)
    expect(took).toBeLessThan(lease)
    worker.signal('SIGTERM')
    expect(await worker.over).toBe(0)
  },
)

concurrently('F-105 pool: a connection that did not answer is not lent again', async () => {
  const proxy = await startCuttingProxy(await freshDatabase())
  whenFinished(() => proxy.close())
  const pool = await createPool(proxy.url, 1, 500)
  whenFinished(() => pool.end())
  // GIVEN a borrower whose statement goes without an answer, and that says nothing of it when it gives the connection back
  const lent = await pool.connect()
  proxy.swallow()
  await expect(lent.query('SELECT 1')).rejects.toThrow('timeout')
  const ended = new Promise((resolve) => void lent.once('end', resolve))
  lent.release()
  await ended
  // THEN the next one gets a new connection
  expect((await pool.query('SELECT 2 AS answer')).rows).toEqual([{ answer: 2 }])
})

for (const [first, second] of [
  [600_000, -600_000],
  [-600_000, 600_000],
] as const)
  concurrently(`F-102 clocks: a worker ${first / 1000} s off is lost, one ${second / 1000} s off goes on`, async () => {
    const { sw, start, witness, gate, openGate } = await createWorkplace({ leaseMs: lease_ms, replyTimeoutMs: 1_000 })
    // GIVEN a worker whose clock is off, which says so, and has an action under way
    const alpha = await start(4, { skew_ms: first })
    const skews = alpha.said.flatMap((s) => (s.said === 'warned' ? [(s.details as { skew_ms?: number }).skew_ms] : []))
    expect(Math.abs((skews[0] ?? 0) - first)).toBeLessThan(5_000)
    const run = await sw.runs.start({ agent: 'wirer', input: { order: 1, gate, heeds: true } })
    await eventually('it has begun', async () => existsSync(begunPath(witness)) || undefined)
    alpha.signal('SIGKILL')
    await alpha.over
    // WHEN one takes over whose clock is off by as much the other way
    const began = performance.now()
    openGate()
    await start(4, { skew_ms: second })
    const asked = await sw.runs.start({ agent: 'signer', input: 'go', interactiveRequireUserReply: false })
    // THEN nothing stays open: calls under way are settled, and a deadline falls due in time
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'wired' })
    expect(await asked.result()).toMatchObject({ status: 'succeeded', result: 'CANCELLED' })
    const took = performance.now() - began
    expect(took).toBeLessThan(30_000)
    // AND nothing is done twice, and what is recorded stands in the order of one clock
    expect(readWitness(witness)).toHaveLength(1)
    const times = (await sw.runelog.read(run.sessionId)).map(({ at }) => at)
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(60_000)
    console.log(`clocks ${first} and ${second} ms off: all was over after ${Math.round(took)} ms`)
  })

test('F-104 connections: every one is made with limits for statements, locks and idle transactions', async () => {
  // GIVEN that there is one place where connections get their options
  const folder = new URL('../../../src/adapters/postgres/', import.meta.url)
  const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'))
  const made = sources.flatMap(
    (text) => text.match(/new (Client|Pool)\([^;]*?clientOptions|new (pg\.)?(Client|Pool)\(/g) ?? [],
  )
  expect(made.length).toBeGreaterThan(3)
  expect(made.filter((text) => !text.endsWith('clientOptions'))).toEqual([])
  // THEN the server holds a connection with these to its limits
  const client = new pg.Client(clientOptions(await freshDatabase()))
  await client.connect()
  onTestFinished(() => client.end())
  for (const name of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
    const { rows } = await client.query<{ ms: number }>('SELECT setting::int AS ms FROM pg_settings WHERE name = $1', [
      name,
    ])
    expect(rows[0]?.ms, name).toBeGreaterThan(0)
    expect(rows[0]?.ms, name).toBeLessThanOrEqual(5_000)
  }
})

test('F-102 doctor: reports how far the clock of this machine is from that of the database', async () => {
  const url = await freshDatabase()
  const { now } = Date
  onTestFinished(() => {
    Date.now = now
  })
  const clock = async () =>
    (await examine({ store: url, server: undefined, config: undefined })).find(({ what }) => what === 'clock')
  expect(await clock()).toMatchObject({ verdict: 'good' })
  Date.now = () => now() + 600_000
  expect(await clock()).toMatchObject({
    verdict: 'odd',
    says: expect.stringMatching(/^The clock of this machine is (599|600)\d{3} ms ahead/),
  })
})
