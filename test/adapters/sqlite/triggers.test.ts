import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { eventsOfSession } from '../../../src/adapters/sqlite/schema.ts'
import { models } from '../../../src/app/open-store.ts'
import { signerOf } from '../../../src/app/store-key.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { subjects } from '../../../src/runelog/models.ts'
import { refusal } from '../../conformance/runelog/store.ts'
import { created, madeAndClosed, move, opening, plain } from '../../support/drafts.ts'
import { packedHeader, textOfHeader, withPacking } from '../../support/records.ts'
import { runCli } from '../../support/run-cli.ts'
import { temporaryFolder } from '../../support/temporary.ts'

let path: string

const open = () => openSqliteRunelog(path, { ...hostPorts, signer: signerOf(`sqlite:${path}`) }, { models })
const delta = (content: string) => plain('turn.assistant_delta', { content })

/**
 * Session 1 has records of one rune (events 1, 7) and of three (2 to 4, 5 to 7 packed); event 3 was erased by event 9.
 * Session 2 is archived: its events 1 to 6 are in a segment, and 7 is in the table.
 */
beforeEach(async () => {
  path = join(temporaryFolder(), 'store.db')
  const runelog = await open()
  const agent = [opening('agent', 'agt_1'), move('agent', 'agt_1', ['spawning', 'init_complete'])]
  for (const runes of [
    [created('ses_1'), ...agent],
    [delta('a'), delta('the secret word'), delta('c')],
    [delta('packed '.repeat(300)), delta('e'), delta('f')],
    [delta('the end')],
  ])
    accepted(await runelog.append({ session_id: 'ses_1', runes }))
  await runelog.redact('ses_1', 5, 'asked to')
  accepted(await runelog.append({ session_id: 'ses_2', runes: madeAndClosed('ses_2') }))
  await runelog.archive('ses_2')
  await runelog.close()
})

/** All tables, as bytes. */
function everything(): string {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = ['meta', 'session', 'record', 'opening', 'segment', 'model_row', 'sqlite_schema']
  const rows = tables.map((name) => db.prepare(`SELECT * FROM ${name}`).all())
  db.close()
  return JSON.stringify(rows)
}

/** Runs SQL as another program does that has the file: no foreign keys, and no triggers for rows that are replaced. */
function run(sql: string): void {
  const db = new DatabaseSync(path)
  try {
    db.enableDefensive(false)
    withPacking(db)
    db.exec('PRAGMA foreign_keys = OFF; PRAGMA recursive_triggers = OFF')
    db.exec(sql)
  } finally {
    db.close()
  }
}

const columns = ['position', 'session', 'event_id', 'header', 'payload', 'salt', 'hash']

/** SQL: writes a record of session 1 again, with some columns changed. */
const again = (event_id: number, changed: Readonly<Record<string, string>>, how = 'INSERT OR REPLACE') =>
  `${how} INTO record (${columns}) SELECT ${columns.map((name) => changed[name] ?? name)}
   FROM record WHERE session = 1 AND event_id = ${event_id}`
/** As it would have to be to follow the last record, event 11. */
const next = { position: 'NULL', event_id: '12', header: `replace(${textOfHeader}, '"event_id":10', '"event_id":12')` }

const vouched = (kind: string, payload: string) =>
  again(10, { ...next, header: `replace(${next.header}, 'turn.assistant_delta', '${kind}')`, payload: `'${payload}'` })
const segmentOf = (session: number, runes: number, first: number) =>
  `INSERT INTO segment VALUES (${session}, 'ses_1-0123456789abcdef.ndjson.zst', ${runes}, ${first})`

test.each([
  // A record that is there.
  'UPDATE record SET position = 77 WHERE event_id = 10',
  'UPDATE record SET rowid = 77 WHERE event_id = 10',
  'UPDATE record SET _rowid_ = -7 WHERE event_id = 10',
  'UPDATE OR REPLACE record SET event_id = 3 WHERE event_id = 10',
  'UPDATE OR IGNORE record SET session = 2 WHERE event_id = 10',
  'UPDATE record SET header = header || char(0) WHERE event_id = 10',
  'UPDATE record SET hash = zeroblob(32)',
  'UPDATE record SET hash = lower(hex(hash))',
  "UPDATE record SET payload = '{}' WHERE event_id = 10",
  "UPDATE record SET payload = x'00' WHERE event_id = 9",
  "UPDATE record SET payload = '{}', salt = '' WHERE event_id = 10",
  "UPDATE record SET payload = payload || ' ' WHERE event_id = 6",
  'UPDATE record SET salt = upper(salt) WHERE event_id = 6',
  "UPDATE record SET salt = replace(salt, char(10), '') WHERE event_id = 6",
  `UPDATE record SET salt = salt || char(10) WHERE event_id = 6`,
  `UPDATE record SET salt = salt || '","' WHERE event_id = 6`,
  'DELETE FROM record WHERE event_id = 11',
  'DELETE FROM record',
  again(10, {}, 'INSERT'),
  `${again(10, {}, 'INSERT')} ON CONFLICT DO UPDATE SET payload = '{}'`,
  `${again(10, { position: 'NULL' }, 'INSERT')} ON CONFLICT (session, event_id) DO UPDATE SET payload = '{}'`,
  // INSERT OR REPLACE removes what is in its way without a trigger.
  again(3, { payload: "'{}'" }),
  again(10, { payload: "'{}'" }),
  again(10, { position: 'NULL', payload: "'{}'" }),
  again(10, { ...next, position: '1' }),
  again(10, { ...next, position: '2', session: '2' }),
  // A place that is not the next one.
  again(10, { ...next, position: '77' }),
  again(10, { ...next, position: '9223372036854775807' }),
  again(10, { ...next, position: '0' }),
  again(10, { ...next, position: '-1' }),
  again(10, { position: 'NULL', event_id: '-4' }),
  again(10, { position: 'NULL', event_id: '0' }),
  again(10, { position: 'NULL', event_id: '5' }),
  again(10, { position: 'NULL', event_id: '12', header: textOfHeader }),
  again(10, { ...next, event_id: '13' }),
  again(10, { ...next, event_id: '9223372036854775807' }),
  again(10, { ...next, header: `replace(${textOfHeader}, '"event_id":10', '"event_id":120')` }),
  again(10, { ...next, salt: "salt || char(10) || ''" }),
  again(3, { position: 'NULL', session: '99' }),
  // Other types.
  again(10, { ...next, payload: 'NULL' }),
  again(10, { ...next, payload: '5' }),
  again(10, { ...next, payload: '9223372036854775807' }),
  again(10, { ...next, header: 'NULL' }),
  again(10, { ...next, header: '5' }),
  again(10, { ...next, salt: "x'00'" }),
  again(10, { ...next, hash: 'NULL' }),
  again(10, { ...next, hash: 'lower(hex(hash))' }),
  again(10, { ...next, hash: "x'00'" }),
  // Sessions.
  "UPDATE session SET session_id = 'ses_9' WHERE id = 1",
  'UPDATE OR REPLACE session SET id = 2 WHERE id = 1',
  'DELETE FROM session',
  "REPLACE INTO session VALUES (1, 'ses_9')",
  "REPLACE INTO session VALUES (3, 'ses_1')",
  "INSERT INTO session VALUES (-1, 'ses_9')",
  "INSERT INTO session VALUES (9, 'ses_9')",
  "INSERT INTO session VALUES (9223372036854775807, 'ses_9')",
  "INSERT INTO session (session_id) VALUES ('ses_9')",
  "INSERT INTO session VALUES (3, x'00')",
  // Segments: an archived record may leave the table.
  segmentOf(1, 10, 1),
  segmentOf(2, 6, 6),
  segmentOf(99, 6, 6),
  'REPLACE INTO segment SELECT session, file, 7, first_position FROM segment',
  'REPLACE INTO segment SELECT 1, file, 10, 1 FROM segment',
  'REPLACE INTO segment SELECT session, file, runes, (SELECT max(position) FROM record) FROM segment',
  'UPDATE segment SET runes = 7',
  'UPDATE segment SET rowid = 1',
  "UPDATE segment SET file = 'ses_1-0123456789abcdef.ndjson.zst'",
  'DELETE FROM segment',
  'DELETE FROM record WHERE session = 2',
])('triggers: the database refuses %s', (sql) => {
  const before = everything()
  expect(() => run(sql)).toThrow(/append-only|constraint failed|cannot store|malformed JSON/)
  expect(everything()).toBe(before)
})

test('triggers: a record that follows the last one is taken, so each refusal above has its own reason', () => {
  run(again(10, next))
  expect(() => run(again(10, next))).toThrow('append-only')
})

test('triggers: a packed header has no event of its own, so it follows the last one with any', async () => {
  run(again(10, { position: 'NULL', event_id: '12' }))
  expect((await verified()).err).toMatch(/ses_1 event 12: its hash/)
})

test.each([true, false])('triggers: a redaction vouches for an erasure only as a text: %s', (isText) => {
  run(vouched('rune.redacted', '{"event_id":10}'))
  if (!isText) withoutTriggers(`UPDATE record SET header = ${packedHeader} WHERE event_id = 12`)
  const erase = () => run("UPDATE record SET payload = '{}', salt = '' WHERE event_id = 10")
  if (isText) erase()
  else expect(erase).toThrow('append-only')
})

test('triggers: openings stay, and a new one needs the record that it names', async () => {
  const runelog = await open()
  const key = { irreversible: true, idempotency_key: 'k', key_scope: 'global' }
  accepted(await runelog.append({ session_id: 'ses_1', runes: [delta('g'), opening('contract', 'exe_1', key)] }))
  await runelog.close()
  const before = everything()
  for (const sql of [
    'DELETE FROM opening',
    "UPDATE opening SET key = 'other'",
    "UPDATE OR REPLACE opening SET key = 'other'",
    'REPLACE INTO opening SELECT key, session, 999, execution_id FROM opening',
    'REPLACE INTO opening SELECT key, 99, event_id, execution_id FROM opening',
    "REPLACE INTO opening SELECT key, session, event_id, 'exe_2' FROM opening",
    'REPLACE INTO opening SELECT key, session, 10, execution_id FROM opening',
  ])
    expect(() => run(sql), sql).toThrow('append-only')
  expect(everything()).toBe(before)
})

test('triggers: a segment is taken with the archiving that vouches for it, and no other', () => {
  const file = 'ses_1-0123456789abcdef.ndjson.zst'
  run(vouched('session.archived', JSON.stringify({ segment: file, runes: 11, sha256: 'x' })))
  const other = segmentOf(1, 11, 1).replace('0123', '3210')
  for (const sql of [other, segmentOf(1, 10, 1), segmentOf(1, 12, 1), segmentOf(1, 11, 2)])
    expect(() => run(sql), sql).toThrow('append-only')
  run(segmentOf(1, 11, 1))
  expect(() => run('DELETE FROM record WHERE session = 1')).toThrow('append-only')
})

const verified = () => runCli(['verify', '--store', `sqlite:${path}`])

test('triggers: the untouched store verifies', async () => {
  expect(await verified()).toMatchObject({ exit: 0, err: '' })
})

const withSchema = (sql: string) => `PRAGMA writable_schema = ON; ${sql}; PRAGMA writable_schema = RESET`
const rewrite = (name: string, from: string, to: string) =>
  withSchema(`UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${name}'`)

/** No trigger can refuse these, so verify must find them. */
test.each<[string, string, RegExp]>([
  ['a trigger is dropped', 'DROP TRIGGER record_is_only_added', /trigger record_is_only_added: it is missing/],
  [
    'triggers are removed from the schema',
    withSchema("DELETE FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'session%'"),
    /trigger session_is_never_changed: it is missing/,
  ],
  [
    'the condition of a trigger is rewritten',
    rewrite('record_is_never_deleted', 'NOT EXISTS', 'EXISTS'),
    /trigger record_is_never_deleted: it was changed/,
  ],
  ['a check is rewritten', rewrite('record', 'position > 0', 'position < 0'), /table record: it was changed/],
  ['a table loses STRICT', rewrite('record', 'STRICT', ''), /table record: it was changed/],
  [
    'a trigger is added that hides another',
    'CREATE TRIGGER a AFTER INSERT ON record BEGIN UPDATE meta SET value = 0; END',
    /trigger a: it was added/,
  ],
  [
    'a table is renamed and a view has its name',
    'ALTER TABLE opening RENAME TO other; CREATE VIEW opening AS SELECT * FROM other',
    /store\.db cannot be used/,
  ],
  [
    'the index of words keeps erased words',
    "INSERT INTO word (word, rank) VALUES ('secure-delete', 0)",
    /settings of the index of words: they were changed/,
  ],
  ['a word is added', `INSERT INTO word (rowid, value) VALUES (${eventsOfSession + 1}, 'added')`, /index of words/],
  ['a row is forged', "UPDATE model_row SET value = '{}' WHERE key = 'ses_1'", /row subjects ses_1|row sessions ses_1/],
  ['the mark of the rows is raised', "UPDATE meta SET value = '99' WHERE name = 'folded'", /meta folded/],
  ['the mark of the rows is no number', "UPDATE meta SET value = 'x' WHERE name = 'folded'", /meta folded/],
  ['a linked record is forged', again(10, next), /ses_1 event 12/],
  [
    'a payload is huge',
    again(10, { ...next, payload: "'{\"content\":\"' || replace(hex(zeroblob(1000000)), '0', 'x') || '\"}'" }),
    /ses_1 event 12/,
  ],
  [
    'packed bytes are cut',
    again(10, { ...next, payload: "x'ffff1f00'" }),
    /ses_1 event 12: it cannot be read.*event 12/,
  ],
  ['a packed header is none', again(10, { ...next, header: "x'ffff1f00'" }), /ses_1 event 12: it cannot be read/],
  ['a packed header is empty', again(10, { ...next, header: "x''" }), /ses_1 event 12: it cannot be read/],
  ['a packed header is that of another commit', again(10, { ...next, header: 'header' }), /ses_1 event 12: its hash/],
  ['packed bytes claim 4 GB', again(10, { ...next, payload: "x'ffffffff10'" }), /it is longer than any that is packed/],
  ['packed bytes unpack to another text', again(10, { ...next, payload: "x'02000000207b7d'" }), /ses_1 event 12/],
])('triggers: verify finds that %s', async (_, sql, found) => {
  run(sql)
  const { exit, err } = await verified()
  expect(err).toMatch(found)
  expect(exit).toBe(String(found).includes('cannot be used') ? 7 : 5)
})

test.each([
  ['UPDATE session SET id = 9223372036854775807 WHERE id = 2'],
  ['UPDATE record SET event_id = 9223372036854775807 WHERE event_id = 11'],
  ['UPDATE record SET position = -5 WHERE event_id = 11'],
  ['UPDATE record SET payload = 5 WHERE event_id = 11'],
  ['UPDATE record SET header = header || char(0) WHERE event_id = 11'],
  ['UPDATE record SET header = CAST(header || char(0) AS BLOB) WHERE event_id = 10'],
  ['UPDATE record SET salt = salt || char(0) WHERE event_id = 10'],
  ['UPDATE record SET hash = CAST(hash || char(0) AS BLOB) WHERE event_id = 11'],
  ['UPDATE record SET hash = CAST(lower(hex(hash)) AS BLOB) WHERE event_id = 11'],
  ["UPDATE segment SET file = 'ses_1-0123456789abcdef.ndjson.zst'"],
])('triggers: verify finds what another program did without them: %s', async (sql) => {
  const triggers = withoutTriggers(sql)
  expect(triggers).toBeGreaterThan(10)
  const { exit, err } = await verified()
  expect(err).not.toBe('')
  expect(exit).toBe(5)
})

/** Drops the triggers, ignores the checks, and restores the triggers. */
function withoutTriggers(sql: string): number {
  const db = new DatabaseSync(path)
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  withPacking(db)
  db.exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ${sql}`)
  for (const trigger of triggers) db.exec(String(trigger.sql))
  db.close()
  return triggers.length
}

test.each(['99', '-1', 'x', '1e300', '', '1'])(
  'rows: a mark that says "%s" is not trusted, and the rows are folded again',
  async (mark) => {
    run(`UPDATE meta SET value = '${mark}' WHERE name = 'folded'; DELETE FROM model_row WHERE key = 'ses_1'`)
    const runelog = await open()
    expect(await runelog.row(subjects, 'ses_1')).toMatchObject({ tag: 'session:created' })
    await runelog.close()
    expect(await verified()).toMatchObject({ exit: 0, err: '' })
  },
)

test('F-109 rebuild: the index of words overwrites what it removes again', async () => {
  run("INSERT INTO word (word, rank) VALUES ('secure-delete', 0)")
  const runelog = await open()
  await runelog.rebuild()
  await runelog.close()
  expect(await verified()).toMatchObject({ exit: 0, err: '' })
})

test('triggers: a record of another program in the place of the next one stops the store', async () => {
  const runelog = await open()
  accepted(await runelog.append({ session_id: 'ses_1', runes: [delta('x')] }))
  // GIVEN a record that the store did not write
  const second = {
    position: 'NULL',
    event_id: '13',
    header: `replace(${textOfHeader}, '"event_id":12', '"event_id":13')`,
  }
  run(again(12, second))
  // WHEN the store appends, THEN it acknowledges nothing, and nothing takes the place of that record
  const late = runelog.append({ session_id: 'ses_1', runes: [delta('late')] })
  expect(await refusal(late)).toMatchObject({
    code: 'store_poisoned',
    details: { cause: 'the runelog is append-only' },
  })
  await runelog.close()
  expect((await verified()).err).toMatch(/ses_1 event 13/)
})
