import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { type Connection, connect } from '../../../../src/adapters/postgres/connection.ts'
import { openPostgresStore } from '../../../../src/adapters/postgres/shared-store.ts'
import { type StatementName, statements } from '../../../../src/adapters/postgres/statements.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import { created, plain } from '../../../support/drafts.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'

const url = await freshDatabase()
const sharing = { lease_ms: 5_000, clock: { now: Date.now, monotonic: () => performance.now() }, warn: () => {} }
const timers = { after: () => () => {} }

/** They read or write everything, and are meant to. */
const whole: ReadonlySet<StatementName> = new Set(['sessionIds', 'segments', 'eraseRows'])
const without = /^(BEGIN|COMMIT|ROLLBACK)/
const names = (Object.keys(statements) as StatementName[]).filter(
  (name) => !(whole.has(name) || without.test(statements[name])),
)

type Plan = { 'Node Type': string; 'Relation Name'?: string; 'Index Cond'?: string; Plans?: Plan[] }

function* scansIn(plan: Plan): Iterable<Plan> {
  if (plan['Relation Name'] !== undefined && plan['Node Type'].includes('Scan')) yield plan
  for (const below of plan.Plans ?? []) yield* scansIn(below)
}

/** The scans that go through a whole table, whatever values a statement gets. */
async function wholeScans({ text }: Pick<Connection, 'text'>, name: StatementName) {
  type Explained = { readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[] }
  const [explained] = await text<Explained>(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${statements[name]}`)
  const scans = [...scansIn(explained?.['QUERY PLAN'][0]?.Plan ?? { 'Node Type': '' })]
  const isBounded = (scan: Plan) => scan['Node Type'] === 'Bitmap Heap Scan' || scan['Index Cond'] !== undefined
  return scans.filter((scan) => !isBounded(scan)).map((scan) => `${scan['Node Type']} ${scan['Relation Name']}`)
}

async function scanned(): Promise<unknown> {
  const sql = `SELECT sum(seq_tup_read)::int AS rows FROM pg_stat_user_tables
    WHERE schemaname = 'statewright' AND relname IN ('session', 'record', 'model_row', 'opening')`
  return (await ask(url, sql))[0]
}

/** Connections of stores. Each reports what it read when it ends, at the latest. */
async function others(): Promise<number> {
  const sql = `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'statewright%' AND datname = current_database()`
  return (await ask(url, sql)).length
}

const tables = ['session', 'record', 'model_row', 'opening']

test('F-112 PostgreSQL: each statement finds its rows by an index, in a new store, a large one and an analysed one', async () => {
  const open = () => openPostgresStore(url, hostPorts, {}, { ...sharing, timers })
  const close = async ({ runelog, shared }: Awaited<ReturnType<typeof open>>) => {
    await shared.close()
    await runelog.close()
  }
  await close(await open())
  const connection = await connect(url)
  onTestFinished(connection.end)
  const problems = async () => {
    const found = await Promise.all(names.map(async (name) => [name, await wholeScans(connection, name)] as const))
    return found.filter(([, scans]) => scans.length > 0)
  }
  expect(await problems()).toEqual([])

  for (const table of tables) await ask(url, `ALTER TABLE statewright.${table} SET (autovacuum_enabled = false)`)
  await ask(
    url,
    `INSERT INTO statewright.session (session_id, event_id, hash, sealed, archived)
       SELECT 'ses_' || i, 1, 'h', false, false FROM generate_series(1, 100000) AS i;
     INSERT INTO statewright.record (session, event_id, header, payload, salt, hash)
       SELECT id, 1, '{}', '{}', '', 'h' FROM statewright.session;
     INSERT INTO statewright.model_row (model, key, tag, sort, value)
       SELECT 'subjects', session_id, 'session:active', id, '{}' FROM statewright.session`,
  )
  for (const statistics of ['none', 'analysed']) {
    if (statistics === 'analysed') await ask(url, `ANALYZE ${tables.map((name) => `statewright.${name}`).join(', ')}`)
    expect(await problems(), statistics).toEqual([])
    // The functions that write a commit have plans of their own.
    const before = await scanned()
    const store = await open()
    for (const i of [1, 2, 3]) {
      const session_id = `ses_${statistics}_${i}`
      accepted(await store.runelog.append({ session_id, runes: [created(session_id)] }))
      accepted(await store.runelog.append({ session_id, runes: [plain('turn.assistant_delta')] }))
      expect(await store.runelog.read(session_id)).toHaveLength(2)
    }
    await close(store)
    await expect.poll(others).toBe(1)
    expect(await scanned(), statistics).toEqual(before)
  }
})
