import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../../../src/adapters/postgres/connection.ts'
import { startCuttingProxy } from '../../../support/cutting-proxy.ts'
import { eventually } from '../../../support/eventually.ts'
import { ask, emptyDatabase } from '../../../support/postgres.ts'
import { createWorkplace } from '../../../support/workplace.ts'

test('queue broken: a database that is away for longer than a lease costs a worker its runs, and not its work', async () => {
  const lease_ms = 1_000
  const { url, sw, join, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
  const proxy = await startCuttingProxy(url)
  onTestFinished(proxy.close)
  const warnings: unknown[] = []
  const worker = await join(4, { store: proxy.url, warn: (_, details) => warnings.push(details) })
  const handles = await Promise.all(
    Array.from({ length: 4 }, () => sw.runs.start({ agent: 'reader', input: { pages: 2, ms: 20, gate } })),
  )
  const logs = () => Promise.all(handles.map(({ sessionId }) => sw.runelog.read(sessionId)))
  await eventually('all of them read', async () =>
    (await logs()).every((log) => log.some((r) => r.kind === 'contract.moved')) ? true : undefined,
  )
  proxy.shut()
  const heard = (what: string, after = 0) =>
    eventually(
      what,
      async () => warnings.findIndex((w, i) => i > after && JSON.stringify(w).includes(what)) + 1 || undefined,
    )
  // The queue is broken, and the next one tries in vain.
  const broken = await heard('Failed to')
  await heard('Error occurred fetching jobs', broken)
  proxy.reopen()
  openGate()
  const results = await Promise.all(handles.map((handle) => handle.result()))
  expect(results.map(({ result }) => result)).toEqual(handles.map(() => 'read 2 pages'))
  for (const log of await logs()) expect(log.filter((r) => r.trigger === 'restart.requeued')).toHaveLength(1)
  await worker.close()
})

test('queue broken: a worker whose connection breaks while it reports a job as done goes on taking jobs', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  const warnings: unknown[] = []
  const worker = await join(4, { warn: (_, details) => warnings.push(details) })
  // A number that was drawn stays drawn, also when the transaction dies.
  await ask(
    url,
    `CREATE SEQUENCE reports;
     CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('reports') IN (1, 2, 5) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN OLD;
      END $$;
     CREATE TRIGGER cut BEFORE DELETE ON statewright_jobs._private_jobs FOR EACH ROW EXECUTE FUNCTION cut()`,
  )
  for (let i = 0; i < 10; i++) {
    const handle = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
    expect(await handle.result()).toMatchObject({ status: 'succeeded' })
  }
  // The fault fired.
  expect(JSON.stringify(warnings)).toContain('Failed to complete jobs')
  await worker.close()
})

test('F-105 queue: jobs that a broken queue fetched and never ran are run by the next queue', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  const worker = await join(4, { warn: () => {} })
  // GIVEN a job that the queue of the worker has fetched by the books, and whose answer was lost
  await ask(
    url,
    `CREATE SEQUENCE fetched;
     CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('fetched') = 1 THEN
          NEW.locked_by := (SELECT pool FROM statewright.worker);
          NEW.locked_at := now();
        END IF;
        RETURN NEW;
      END $$;
     CREATE TRIGGER take BEFORE INSERT ON statewright_jobs._private_jobs FOR EACH ROW EXECUTE FUNCTION take();
     CREATE SEQUENCE reports;
     CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('reports') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN OLD;
      END $$;
     CREATE TRIGGER cut BEFORE DELETE ON statewright_jobs._private_jobs FOR EACH ROW EXECUTE FUNCTION cut()`,
  )
  const lost = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
  // WHEN the queue breaks, because it cannot report another job
  const began = performance.now()
  const other = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
  expect(await other.result()).toMatchObject({ status: 'succeeded' })
  // THEN the lost one is done soon, and not when lost wakes are looked for
  expect(await lost.result()).toMatchObject({ status: 'succeeded' })
  expect(performance.now() - began).toBeLessThan(10_000)
  await worker.close()
})

test('F-105 queue: a job whose fetch was carried out and never answered is brought again soon', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  const proxy = await startCuttingProxy(url)
  onTestFinished(proxy.close)
  // GIVEN a worker whose queue has looked around and found nothing to do
  const worker = await join(1, { store: proxy.url, warn: () => {} })
  const first = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
  expect(await first.result()).toMatchObject({ status: 'succeeded' })
  // WHEN its connection breaks after the server has given it a job
  const [queue] = (await ask(url, 'SELECT pool FROM statewright.worker')) as readonly { readonly pool: string }[]
  proxy.cutAnswer((answer) => answer.includes(queue?.pool ?? ''))
  const began = performance.now()
  const lost = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 } })
  expect(await lost.result()).toMatchObject({ status: 'succeeded' })
  // THEN the job is brought again, and not when lost wakes are looked for
  expect(proxy.cuts()).toBe(1)
  expect(performance.now() - began).toBeLessThan(10_000)
  await worker.close()
})

test('queue broken: a worker that leaves while the database is away closes all that it had open', async () => {
  const { url, join } = await createWorkplace({ leaseMs: 1_000 })
  const proxy = await startCuttingProxy(url)
  const warnings: unknown[] = []
  const worker = await join(4, { store: proxy.url, warn: (message) => warnings.push(message) })
  proxy.shut()
  await worker.close()
  expect(warnings).toContain('a worker could not hand its runs back')
  await proxy.close()
})

test('F-111 pool: a connection that the queue lets go of twice is let go of once', async () => {
  const database = await emptyDatabase()
  const pool = await createPool(database.url, 1)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  pool.connect((error, _client, release) => {
    if (error !== undefined) return reject(error)
    try {
      release()
      release()
      resolve()
    } catch (thrown) {
      reject(thrown)
    }
  })
  await promise
  // It is in the pool, and only once.
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
  await pool.end()
  await database.drop()
})
