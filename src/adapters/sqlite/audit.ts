import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SQLOutputValue } from 'node:sqlite'
import { isFault } from '../../faults/catalogue.ts'
import { type Damage, damageIn, type StoredOpening, type StoredRow } from '../../runelog/damage.ts'
import { namesIn, readRegular } from '../../runelog/files.ts'
import { unreadable } from '../../runelog/first-bad.ts'
import { allModels, fingerprint } from '../../runelog/models.ts'
import type { ReadModel } from '../../runelog/port.ts'
import { createSegments } from '../../runelog/segment.ts'
import { searchModel } from '../../runelog/words.ts'
import { blobRef } from '../../runes/redaction.ts'
import { doomedProblem, readDoomed } from './companion-files.ts'
import { DatabaseSync } from './driver.ts'
import { causeOf, openDatabaseToRead } from './open-database.ts'
import { createReader, type Reader } from './reader.ts'
import { schema, wordsAt } from './schema.ts'
import { prepareStatements } from './statements.ts'

/** All parts of the store's files that do not follow from its log. It only reads, and never throws over damage. */
export async function* auditSqlite(path: string, more: readonly ReadModel[]): AsyncGenerator<Damage, void, void> {
  const db = openDatabaseToRead(path)
  try {
    yield* database(db)
    const reader = createReader(db, prepareStatements(db), createSegments(`${path}.segments`))
    yield* sessions(db)
    yield* words(db)
    if (readDoomed(reader.meta('erasing')) === undefined) yield { what: 'meta erasing', problem: doomedProblem }
    yield* segments(db, reader)
    yield* blobs(`${path}.blobs`)
    yield* derived(db, reader, `${path}.blobs`, allModels(more))
  } catch (error) {
    if (isFault(error, 'store_damaged')) yield error.details
    else yield { what: 'database', problem: `it cannot be read further: ${causeOf(error)}.` }
  } finally {
    db.close()
  }
}

/** The file itself, and its schema with the triggers that enforce the rules of the log. */
function* database(db: DatabaseSync): Generator<Damage, void, void> {
  for (const { integrity_check } of all<{ integrity_check: string }>(db, 'PRAGMA integrity_check'))
    if (integrity_check !== 'ok') yield { what: 'database', problem: `${integrity_check}.` }
  const model = new DatabaseSync(':memory:')
  model.exec(schema)
  const parts = "SELECT type || ' ' || name AS what, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1"
  const found = new Map(all<{ what: string; sql: string }>(db, parts).map(({ what, sql }) => [what, sql]))
  for (const { what, sql } of all<{ what: string; sql: string }>(model, parts)) {
    if (found.get(what) === undefined) yield { what, problem: 'it is missing from the database.' }
    else if (found.get(what) !== sql) yield { what, problem: 'it was changed.' }
    found.delete(what)
  }
  for (const what of found.keys()) yield { what, problem: 'it was added to the database.' }
  // With another setting, the index keeps the words of erased texts.
  const settings = (of: DatabaseSync) =>
    JSON.stringify(all(of, "SELECT k, v FROM word_config WHERE k <> 'version' ORDER BY k"))
  if (settings(db) !== settings(model))
    yield {
      what: 'settings of the index of words',
      problem: 'they were changed. "statewright rebuild" sets them again.',
    }
  model.close()
}

/** The index has every word of every text, and no other. The sums do not depend on the order. */
function* words(db: DatabaseSync): Generator<Damage, void, void> {
  db.exec("CREATE VIRTUAL TABLE temp.indexed USING fts5vocab('main', 'word', 'instance')")
  const sum = (pairs: Iterable<readonly [term: string, at: number]>) => {
    let total = 0
    for (const [term, at] of pairs)
      total = (total + Number.parseInt(hash('sha256', `${at} ${term}`).slice(0, 12), 16)) % 2 ** 48
    return total
  }
  const indexed = db.prepare('SELECT term, doc FROM temp.indexed').iterate() as Iterable<{ term: string; doc: number }>
  const texts = db.prepare(`SELECT value, ${wordsAt('model_row')} AS at FROM model_row WHERE model = '${searchModel}'`)
  const rows = texts.iterate() as Iterable<{ value: string; at: number }>
  function* found() {
    for (const { term, doc } of indexed) yield [term, doc] as const
  }
  function* expected() {
    for (const { value, at } of rows)
      for (const term of value.slice(1, -1).split(' ')) if (term !== '') yield [term, at] as const
  }
  if (sum(found()) === sum(expected())) return
  yield { what: 'index of words', problem: 'it does not fit the texts. "statewright rebuild" makes it again.' }
}

function* sessions(db: DatabaseSync): Generator<Damage, void, void> {
  const empty = `SELECT 'session ' || session_id AS what, 'it has no events.' AS problem FROM session
    WHERE id NOT IN (SELECT session FROM record UNION SELECT session FROM segment)`
  const orphans = `SELECT 'event ' || min(event_id) || ' of session number ' || session AS what,
    'its session is missing.' AS problem FROM record WHERE session NOT IN (SELECT id FROM session) GROUP BY session`
  const moved = `SELECT s.session_id || ' event ' || later.event_id AS what,
    'its place in the order of the commits was changed.' AS problem FROM record later JOIN record earlier
    ON earlier.session = later.session AND earlier.event_id =
    (SELECT max(event_id) FROM record WHERE session = later.session AND event_id < later.event_id) JOIN session s ON s.id = later.session
    WHERE earlier.position > later.position`
  for (const sql of [empty, orphans, moved])
    for (const { what, problem } of all<Damage & Record<string, string>>(db, sql)) yield { what, problem }
}

async function* segments(db: DatabaseSync, reader: Reader): AsyncGenerator<Damage, void, void> {
  type Segment = { session: number; file: string; runes: number; first_position: number }
  for (const { session, file, runes, first_position } of all<Segment>(db, 'SELECT * FROM segment')) {
    const what = `archived log ${file}`
    try {
      const records = await reader.cold(session)
      const overlap = 'SELECT count(*) AS count FROM record WHERE session = ? AND event_id <= ?'
      const last = records.at(-1)?.event_id ?? 0
      const doubled = db.prepare(overlap).get(session, last)
      if (last !== runes || records[0]?.position !== first_position)
        yield { what, problem: 'its row in the database does not fit the file.' }
      if (doubled?.count !== 0) yield { what, problem: 'the database holds events that are in it, too.' }
      if (records.some(({ position }, i) => position <= (records[i - 1]?.position ?? 0)))
        yield { what, problem: 'the order of its commits was changed.' }
    } catch (error) {
      if (isFault(error, 'store_damaged')) yield error.details
      else yield { what, problem: unreadable(error) }
    }
  }
}

/** Every output is named by its content, also one that no event refers to. */
async function* blobs(folder: string): AsyncGenerator<Damage, void, void> {
  for (const name of namesIn(folder)) {
    if (name.startsWith('.')) continue
    const problem = await blobProblem(folder, name)
    if (problem !== undefined) yield { what: `output ${name}`, problem }
  }
}

async function blobProblem(folder: string, ref: string): Promise<string | undefined> {
  try {
    const name = blobRef(hash('sha256', await readRegular(join(folder, ref))))
    return name === ref ? undefined : 'its content is not what was recorded.'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? 'it is missing.'
      : `it cannot be read (${causeOf(error)}).`
  }
}

async function* derived(
  db: DatabaseSync,
  reader: Reader,
  folder: string,
  models: readonly ReadModel[],
): AsyncGenerator<Damage, void, void> {
  const folded = Number(reader.meta('folded') ?? 0)
  const last = all<{ last: number }>(db, 'SELECT coalesce(max(position), 0) AS last FROM record')[0]?.last ?? 0
  if (!(folded <= last)) yield { what: 'meta folded', problem: `it is ${folded}, past the last event.` }
  for (const { model } of all<{ model: string }>(db, 'SELECT DISTINCT model FROM model_row'))
    if (!models.some(({ name }) => name === model))
      yield { what: `rows of ${model}`, problem: 'no read model has them.' }
  const rows = db.prepare('SELECT key, tag, sort, value FROM model_row WHERE model = ?')
  const rowsOf = (model: string) => rows.all(model) as (StoredRow & Record<string, SQLOutputValue>)[]
  const openings = `SELECT key, coalesce(session_id, 'session number ' || session) AS session_id, event_id, execution_id
    FROM opening LEFT JOIN session ON id = session`
  const store = {
    records: reader.inOrder(),
    folded,
    // Rows of another version are folded again when the store opens, so nothing depends on them.
    rows: reader.meta('models') === fingerprint(models) ? rowsOf : undefined,
    openings: () => all<StoredOpening & Record<string, SQLOutputValue>>(db, openings),
    blobProblem: async (ref: string) => (existsSync(join(folder, ref)) ? undefined : 'it is missing.'),
  }
  yield* damageIn(store, models)
}

function all<T extends Record<string, SQLOutputValue>>(db: DatabaseSync, sql: string): readonly T[] {
  return db.prepare(sql).all() as T[]
}
