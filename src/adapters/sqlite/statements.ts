import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faults } from '../../faults/catalogue.ts'
import { busy_ms, hookWords, overwriteWords, unhookWords } from './schema.ts'

/** Every write of a store, by name. */
const writing = {
  addSession: 'INSERT INTO session (id, session_id) VALUES (?, ?)',
  addRecord: 'INSERT INTO record (session, event_id, header, payload, salt, hash) VALUES (?, ?, ?, ?, ?, ?)',
  addOpening: 'INSERT INTO opening (key, session, event_id, execution_id) VALUES (?, ?, ?, ?)',
  // Many rows in one statement: each statement that may fire the triggers of the words costs more than its row.
  putRows: `INSERT INTO model_row (model, key, tag, sort, value)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE true
    ON CONFLICT (model, key) DO UPDATE SET tag = excluded.tag, sort = excluded.sort, value = excluded.value`,
  addRow: 'INSERT INTO model_row (model, key, tag, sort, value) VALUES (?, ?, ?, ?, ?)',
  removeRow: 'DELETE FROM model_row WHERE model = ? AND key = ?',
  eraseRows: 'DELETE FROM model_row',
  // Before the rows are erased: to overwrite their words one by one would take minutes.
  eraseWords: "INSERT INTO word (word) VALUES ('delete-all')",
  overwriteWords,
  erasePayload: 'UPDATE record SET payload = ?, salt = ? WHERE session = ? AND event_id = ?',
  addSegment: 'INSERT INTO segment (session, file, runes, first_position) VALUES (?, ?, ?, ?)',
  changeSegment: 'UPDATE segment SET file = ? WHERE session = ?',
  dropArchived: 'DELETE FROM record WHERE session = ? AND event_id <= ?',
  setFolded:
    "INSERT INTO meta (name, value) SELECT 'folded', coalesce(max(position), 0) FROM record WHERE true ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  setMeta: 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
} as const

/** Changes of the schema, which cannot be prepared. */
const scripts = { unhookWords, hookWords } as const

/** A value that can be bound. */
export type Value = string | number | null | Uint8Array
/** One statement of a transaction, with its parameters. */
export interface Step {
  readonly name: keyof typeof writing | keyof typeof scripts
  readonly values: readonly Value[]
  /** Its values, if it is run many times: they are made one after the other. */
  readonly each?: Iterable<readonly Value[]>
}

/** A statement with its values. */
export function step(name: Step['name'], ...values: Value[]): Step {
  return { name, values }
}

/** SQL: a hash is stored as bytes. */
const hash = 'lower(hex(hash))'
const columns = `event_id, header, payload, salt, ${hash}, position`

const reading = {
  sessionKey: 'SELECT id FROM session WHERE session_id = ?',
  sessionIds: 'SELECT session_id FROM session ORDER BY id',
  lastPosition: 'SELECT coalesce(max(position), 0) FROM record',
  lastSession: 'SELECT coalesce(max(id), 0) FROM session',
  lastRecord: `SELECT event_id, ${hash} FROM record WHERE session = ? ORDER BY event_id DESC LIMIT 1`,
  hash: `SELECT ${hash} FROM record WHERE session = ? AND event_id = ?`,
  forward: `SELECT ${columns} FROM record WHERE session = ? AND event_id > ? ORDER BY event_id LIMIT ?`,
  // The record with the event before `high` is the first that ends there or later.
  backward: `SELECT ${columns} FROM record WHERE session = ?1 AND event_id > ?2 AND event_id <=
    coalesce((SELECT min(event_id) FROM record WHERE session = ?1 AND event_id >= ?3 - 1), ?3) ORDER BY event_id DESC LIMIT ?4`,
  allRecords: `SELECT ${columns} FROM record WHERE position > ? ORDER BY position LIMIT ?`,
  openings: 'SELECT session, event_id, execution_id FROM opening WHERE key = ?',
  row: 'SELECT tag, sort, value FROM model_row WHERE model = ? AND key = ?',
  // Goes from tag to tag in the index; a DISTINCT would go through every row.
  tags: `WITH RECURSIVE found (tag) AS (
    SELECT (SELECT tag FROM model_row WHERE model = ? AND tag IS NOT NULL ORDER BY tag LIMIT 1)
    UNION ALL SELECT (SELECT tag FROM model_row WHERE model = ? AND tag > found.tag ORDER BY tag LIMIT 1)
    FROM found WHERE found.tag IS NOT NULL)
    SELECT tag FROM found WHERE tag IS NOT NULL`,
  count:
    'SELECT count(*), min(sort) FROM (SELECT sort FROM model_row WHERE model = ? AND tag = ? ORDER BY sort LIMIT ?)',
  segment: 'SELECT file, runes FROM segment WHERE session = ?',
  segments: 'SELECT file, first_position FROM segment ORDER BY first_position',
  meta: 'SELECT value FROM meta WHERE name = ?',
} as const

/** All prepared statements, by name. */
export type Statements = { readonly [K in keyof typeof writing | keyof typeof reading]: StatementSync }

/** Rows are arrays: with few columns that is the cheapest form. */
export function prepareStatements(db: DatabaseSync): Statements {
  const entries = Object.entries({ ...writing, ...reading }).map(([name, sql]) => [name, prepare(db, sql)] as const)
  return Object.fromEntries(entries) as Statements
}

/** A statement whose rows are arrays, to be read by `one` and `every`. */
export function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

/** The first row, whose columns are named here. */
export function one<T extends readonly unknown[]>(statement: StatementSync, ...values: Value[]): T | undefined {
  // biome-ignore lint/plugin: the types of node:sqlite do not know `setReturnArrays`.
  return readable(() => statement.get(...values)) as unknown as T | undefined
}

/** All rows, whose columns are named here. */
export function every<T extends readonly unknown[]>(statement: StatementSync, ...values: Value[]): readonly T[] {
  // biome-ignore lint/plugin: the types of node:sqlite do not know `setReturnArrays`.
  return readable(() => statement.all(...values)) as unknown as readonly T[]
}

/** An integer beyond `Number.MAX_SAFE_INTEGER` means a damaged file. */
function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const problem = `a number in it was never recorded: ${error.message}.`
    throw faults.store_damaged({ what: 'database', problem }, { cause: error })
  }
}

const eraseTraces = new Set<Step['name']>(['erasePayload', 'dropArchived', 'changeSegment'])

/** Only this code changes the database. The transaction is open while `decide` runs, which speeds up lookups. */
export function createWriter(db: DatabaseSync, statements: Statements) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  let isTraced = false

  /** Empties the log. Does not wait for a backup that reads it: the next commit tries again. */
  function emptyLog() {
    db.exec('PRAGMA busy_timeout = 0')
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    db.exec(`PRAGMA busy_timeout = ${busy_ms}`)
    isTraced = busy !== 0
  }

  return (decide: () => readonly Step[]): void => {
    begin.run()
    const steps = decide()
    if (steps.length === 0) {
      rollback.run()
      return
    }
    for (const { name, values, each = [values] } of steps)
      if (name === 'unhookWords' || name === 'hookWords') db.exec(scripts[name])
      else for (const values of each) statements[name].run(...values)
    commit.run()
    isTraced ||= steps.some(({ name }) => eraseTraces.has(name))
    if (isTraced) emptyLog()
  }
}
