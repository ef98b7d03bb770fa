import pg from 'pg'
import { measuredBy } from './child.ts'

const template = { steps: 1, warm: 0 }

/** Fills our tables with so many sessions: one that the runtime played, and copies of its rows under other ids. */
export async function manySessions(url: string, count: number): Promise<void> {
  measuredBy('bench/steps/ours.ts', { store: url, ...template })
  await inDatabase(url, async (query) => {
    // All ids of a session begin with the time, in hexadecimal.
    const id = `(SELECT substr(split_part(session_id, '_', 2), 1, 6) FROM statewright.session WHERE id = 1)`
    const other = (column: string) => `replace(${column}, ${id}, 'c' || lpad(to_hex(n), 7, '0'))`
    const numbers = `generate_series(1, ${count - 1}) AS n`
    await query(`INSERT INTO statewright.session (id, session_id, event_id, hash, sealed, archived)
      OVERRIDING SYSTEM VALUE
      SELECT id + n, ${other('session_id')}, event_id, hash, sealed, archived
      FROM statewright.session, ${numbers} WHERE id = 1`)
    await query(`SELECT setval(pg_get_serial_sequence('statewright.session', 'id'), ${count})`)
    await query(`INSERT INTO statewright.record (session, event_id, header, payload, salt, hash)
      SELECT session + n, event_id, ${other('header')}, ${other('payload')}, salt, hash
      FROM statewright.record, ${numbers} WHERE session = 1 ORDER BY n, position`)
    await query(`INSERT INTO statewright.model_row (model, key, tag, sort, value)
      SELECT model, ${other('key')}, tag, sort, ${other('value')} FROM statewright.model_row, ${numbers}`)
  })
}

/** Fills the tables of DBOS with so many workflows in the same way. */
export async function manyWorkflows(url: string, count: number): Promise<void> {
  measuredBy('bench/peers/dbos.mjs', { url, ...template })
  await inDatabase(url, async (query) => {
    for (const table of ['workflow_status', 'workflow_input', 'workflow_output', 'operation_outputs'])
      await query(`INSERT INTO dbos.${table}
        SELECT (jsonb_populate_record(t, jsonb_build_object('workflow_uuid', t.workflow_uuid || '-' || n))).*
        FROM dbos.${table} AS t, generate_series(1, ${count - 1}) AS n`)
  })
}

export const analyse = (url: string): Promise<void> => inDatabase(url, (query) => query('VACUUM ANALYZE'))

async function inDatabase(url: string, work: (query: (sql: string) => Promise<void>) => Promise<void>) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SET synchronous_commit = off')
  try {
    await work(async (sql) => {
      await client.query(sql)
    })
  } finally {
    await client.end()
  }
}
