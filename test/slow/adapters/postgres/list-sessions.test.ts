import { expect, test } from 'vitest'
import { backendOf } from '../../../../src/app/backend.ts'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { keyOf } from '../../../../src/app/store-key.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { localClient } from '../../../../src/surface/client.ts'
import { listSessions } from '../../../../src/surface/operations/sessions.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'

const many = 20_000

/** Rows of a table that PostgreSQL has read so far. A connection reports what it read when it ends. */
async function rowsRead(url: string): Promise<number> {
  const [row] = await ask(
    url,
    `SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read
     FROM pg_stat_user_tables WHERE relname = 'model_row'`,
  )
  return (row as { read: number }).read
}

test('F-54 list_sessions on PostgreSQL: a filter that fits nothing does not read the other sessions', async () => {
  const store = await freshDatabase()
  const agents = { well: agent({ role: 'well', model: scriptedModel(() => say('Fine.')) }) }
  const open = () => createStatewright({ store, agents, maxConcurrentRuns: 0 })
  await (await open()).close()
  for (const [model, tag] of [
    ['summaries', 'succeeded'],
    ['listings', 'active/succeeded'],
  ])
    await ask(
      store,
      `INSERT INTO statewright.model_row (model, key, tag, sort, value)
       SELECT $1, 'ses_' || n, $2, n, '{"state":"active","agent":"well","open_runs":[],"last_run":null}'
       FROM generate_series(1, ${many}) AS n`,
      [model, tag],
    )
  await ask(store, 'ANALYZE statewright.model_row')

  const before = await rowsRead(store)
  const sw = await open()
  const client = localClient(backendOf(sw, keyOf('memory:')), () => sw.close())
  for (const query of [{ agent: 'stranger' }, { state: 'paused' }, { state: 'active', agent: 'stranger' }] as const)
    expect(await client.call(listSessions, { query })).toEqual({ items: [], next_cursor: null })
  await client.close()
  const after = await rowsRead(store)
  expect(after - before).toBeLessThan(200)

  // The measure sees a scan where there is one.
  await ask(store, "SELECT count(value) FROM statewright.model_row WHERE value LIKE '%stranger%'")
  expect((await rowsRead(store)) - after).toBeGreaterThan(many)
})
