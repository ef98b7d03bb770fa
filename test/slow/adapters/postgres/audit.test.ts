import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../../../src/adapters/postgres/runelog.ts'
import { openPostgresStore } from '../../../../src/adapters/postgres/shared-store.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import { subjects } from '../../../../src/runelog/models.ts'
import { closed, created, opening } from '../../../support/drafts.ts'
import { ask, emptyDatabase } from '../../../support/postgres.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'

const folder = scratchFolder('audit').fresh()
const template = await emptyDatabase()
afterAll(template.drop)
const contract = (id: string, idempotency_key: string) =>
  opening('contract', id, { irreversible: true, idempotency_key, key_scope: 'session' })
const open = (url: string) => openPostgresRunelog(url, hostPorts, { segments: join(folder, 'segments') })

/** Irreversible contracts: two in a session at work, one in an archived one. A third session is closed. */
const runelog = await open(template.url)
for (const session_id of ['ses_1', 'ses_2', 'ses_3'])
  accepted(
    await runelog.append({ session_id, runes: [created(session_id), contract(`exe_of_${session_id}`, 'pay-7')] }),
  )
accepted(await runelog.append({ session_id: 'ses_1', runes: [contract('exe_2', 'pay-8')] }))
for (const session_id of ['ses_2', 'ses_3']) accepted(await runelog.append({ session_id, runes: closed(session_id) }))
await runelog.archive('ses_2')
await runelog.close()

/** The store under test: a copy with this damage, made past the triggers. */
async function copyWith(sql: string): Promise<string> {
  const { url, drop } = await emptyDatabase()
  afterAll(drop)
  const [name, from] = [url, template.url].map((each) => new URL(each).pathname.slice(1))
  const server = new URL(url)
  server.pathname = '/template1'
  await ask(server.href, `DROP DATABASE ${name}`)
  await ask(server.href, `CREATE DATABASE ${name} TEMPLATE ${from}`)
  await ask(url, `SET session_replication_role = replica; SET search_path = statewright; ${sql}`)
  return url
}

async function damagesOf(url: string): Promise<readonly string[]> {
  const store = await open(url)
  try {
    return (await Array.fromAsync(store.damages())).map(({ what, problem }) => `${what}: ${problem}`).sort()
  } finally {
    await store.close()
  }
}

const added = 'it was added; it does not follow from the log.'
const gone = 'it is missing from the database.'
const missing = 'it is missing, and follows from the log.'
const head = "UPDATE session SET hash = repeat('0', 64) WHERE session_id = 'ses_1'"

test.each<[string, string, readonly string[]]>([
  ['none', 'SELECT 1', []],
  // A process died before it removed the file.
  ['a note of a file to remove', "INSERT INTO meta VALUES ('erasing ses_1-0123456789abcdef.ndjson.zst', 'ses_1')", []],
  [
    'a note of a file of another session',
    "INSERT INTO meta VALUES ('erasing ses_2-0123456789abcdef.ndjson.zst', 'ses_1')",
    ['meta erasing ses_2-0123456789abcdef.ndjson.zst: it was added to the database.'],
  ],
  [
    'an entry of the index deleted',
    "DELETE FROM opening WHERE key = 'pay-8'",
    [`opening exe_2 of ses_1 event 3 with the key "pay-8": ${missing}`],
  ],
  [
    'an entry of an archived session deleted',
    "DELETE FROM opening WHERE execution_id = 'exe_of_ses_2'",
    [`opening exe_of_ses_2 of ses_2 event 2 with the key "pay-7": ${missing}`],
  ],
  [
    'an entry of the index added',
    "INSERT INTO opening VALUES ('pay-9', 77, 4, 'exe_4')",
    [`opening exe_4 of session number 77 event 4 with the key "pay-9": ${added}`],
  ],
  [
    'an entry of the index doubled',
    "INSERT INTO opening SELECT * FROM opening WHERE key = 'pay-8'",
    [`opening exe_2 of ses_1 event 3 with the key "pay-8": ${added}`],
  ],
  ['the hash of a head', head, ['head of ses_1: its hash is not that of the last record.']],
  [
    'the event of a head',
    "UPDATE session SET event_id = event_id + 5 WHERE session_id = 'ses_1'",
    ['head of ses_1: it is event 8, and its log ends with event 3.'],
  ],
  [
    'a head that says closed',
    "UPDATE session SET sealed = true WHERE session_id = 'ses_1'",
    ['head of ses_1: it is closed, against its log.'],
  ],
  [
    'a head that says open',
    "UPDATE session SET sealed = false WHERE session_id = 'ses_3'",
    ['head of ses_3: it is not closed, against its log.'],
  ],
  [
    'a head that says archived',
    "UPDATE session SET archived = true WHERE session_id = 'ses_3'",
    ['head of ses_3: it is archived, against its log.'],
  ],
  [
    'a head that says not archived',
    "UPDATE session SET archived = false WHERE session_id = 'ses_2'",
    ['head of ses_2: it is not archived, against its log.'],
  ],
  [
    'a session without events',
    "INSERT INTO session (session_id, event_id, hash, sealed, archived) VALUES ('ses_9', 1, '', false, false)",
    ['head of ses_9: its log has no events.'],
  ],
  [
    'the row of an archived log',
    'UPDATE segment SET first_position = first_position - 1',
    [expect.stringMatching(/^archived log ses_2.*: its row in the database does not fit the file\.$/)],
  ],
  [
    'the rows of no model',
    "INSERT INTO model_row VALUES ('others', 'key', NULL, 0, '1')",
    ['rows of others: no read model has them.'],
  ],
  ['the marks', 'DELETE FROM meta', ['meta schema: it is missing.']],
  ['a mark added', "INSERT INTO meta VALUES ('mine', '1')", ['meta mine: it was added to the database.']],
  [
    'a trigger dropped',
    'DROP TRIGGER record_is_never_changed ON record',
    ['trigger record_is_never_changed: it is missing from the database.'],
  ],
  [
    'a trigger disabled',
    'ALTER TABLE opening DISABLE TRIGGER opening_is_never_changed',
    ['trigger opening_is_never_changed: it is disabled.'],
  ],
  [
    'a trigger of another event',
    `DROP TRIGGER session_is_never_deleted ON session;
      CREATE TRIGGER session_is_never_deleted BEFORE INSERT ON session EXECUTE FUNCTION refuse()`,
    ['trigger session_is_never_deleted: it was changed.'],
  ],
  [
    'a trigger with another condition',
    `DROP TRIGGER session_only_grows ON session; CREATE TRIGGER session_only_grows BEFORE UPDATE ON session
      FOR EACH ROW WHEN (NEW.id <> OLD.id) EXECUTE FUNCTION refuse()`,
    ['trigger session_only_grows: it was changed.'],
  ],
  [
    'a trigger added',
    'CREATE TRIGGER mine BEFORE INSERT ON record EXECUTE FUNCTION refuse()',
    ['trigger mine: it was added to the database.'],
  ],
  [
    'a function of the triggers',
    `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
    ['function refuse: it was changed.'],
  ],
  [
    'a rule added',
    'CREATE RULE mine AS ON DELETE TO record DO INSTEAD NOTHING',
    ['rule mine: it was added to the database.'],
  ],
  [
    'the constraints that keep a record, a row and a session unique',
    `ALTER TABLE record DROP CONSTRAINT record_pkey; ALTER TABLE model_row DROP CONSTRAINT model_row_pkey;
      ALTER TABLE session DROP CONSTRAINT session_session_id_key`,
    ['model_row_pkey', 'record_pkey', 'session_session_id_key'].map((name) => `constraint ${name}: ${gone}`),
  ],
  [
    'a constraint of other columns',
    `ALTER TABLE segment DROP CONSTRAINT segment_pkey, ADD CONSTRAINT segment_pkey PRIMARY KEY (session, file)`,
    ['constraint segment_pkey: it was changed.'],
  ],
  [
    'a constraint that is checked late',
    `ALTER TABLE session DROP CONSTRAINT session_session_id_key,
      ADD CONSTRAINT session_session_id_key UNIQUE (session_id) DEFERRABLE INITIALLY DEFERRED`,
    ['constraint session_session_id_key: it was changed.'],
  ],
  [
    'a constraint added',
    "ALTER TABLE record ADD CONSTRAINT mine CHECK (payload <> 'x') NOT VALID",
    ['constraint mine: it was added to the database.'],
  ],
  ['an index dropped', 'DROP INDEX opening_by_key', [`index opening_by_key: ${gone}`]],
  [
    'an index of another condition',
    "DROP INDEX model_row_by_tag; CREATE INDEX model_row_by_tag ON model_row (model, tag, sort, key) WHERE tag = 'x'",
    ['index model_row_by_tag: it was changed.'],
  ],
  [
    'an index that is not valid',
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'opening_by_key'::regclass",
    ['index opening_by_key: it is not valid.'],
  ],
  [
    'an index added',
    'CREATE UNIQUE INDEX mine ON opening (execution_id)',
    ['index mine: it was added to the database.'],
  ],
  [
    'columns of another type, default or rule about nulls',
    `ALTER TABLE record ALTER event_id TYPE bigint, ALTER salt DROP NOT NULL, ALTER hash SET DEFAULT 'x',
      ALTER position SET GENERATED BY DEFAULT; ALTER TABLE opening ADD mine integer;
      ALTER TABLE model_row ALTER tag TYPE text COLLATE "POSIX"`,
    [
      'column model_row.tag: it was changed.',
      'column opening.mine: it was added to the database.',
      ...['event_id', 'hash', 'position', 'salt'].map((name) => `column record.${name}: it was changed.`),
    ],
  ],
  [
    'a table dropped',
    'DROP TABLE opening',
    [expect.stringMatching(/^database/), `table opening: ${gone}`, `trigger opening_is_never_changed: ${gone}`],
  ],
])('PostgreSQL: the audit names %s', async (_, sql, expected) => {
  expect(await damagesOf(await copyWith(sql))).toEqual(expected)
})

test('PostgreSQL: a key of the index whose record is gone is not free, and an archived one is judged by its row', async () => {
  const url = await copyWith(`DELETE FROM record WHERE event_id = 3;
    UPDATE session SET event_id = 2, hash = (SELECT hash FROM record r WHERE r.session = id) WHERE session_id = 'ses_1';
    DELETE FROM model_row WHERE model = 'claims'`)
  const store = await open(url)
  const again = (key: string) => store.append({ session_id: 'ses_1', runes: [contract('exe_new', key)] })
  await expect(again('pay-8')).rejects.toMatchObject({ code: 'store_damaged', details: { what: 'opening exe_2' } })
  expect(await again('pay-7')).toMatchObject({ code: 'key_taken' })
  accepted(await store.append({ session_id: 'ses_1', runes: [contract('exe_new', 'pay-10')] }))
  await store.close()
})

test('PostgreSQL: the audit knows the functions of the tables that processes share', async () => {
  const { url, drop } = await emptyDatabase()
  afterAll(drop)
  const clock = { now: Date.now, monotonic: () => performance.now() }
  const sharing = { lease_ms: 5_000, clock, timers: { after: () => () => {} }, warn: () => {} }
  const store = await openPostgresStore(url, hostPorts, {}, sharing)
  await store.shared.close()
  await store.runelog.close()
  expect(await damagesOf(url)).toEqual([])
  const body = 'LANGUAGE sql AS $$ SELECT true $$'
  await ask(url, `CREATE OR REPLACE FUNCTION statewright.is_gone(w statewright.worker) RETURNS boolean ${body}`)
  await ask(url, 'DROP FUNCTION statewright.join_worker')
  await ask(url, 'ALTER TABLE statewright.worker ALTER is_lost DROP DEFAULT')
  await ask(url, 'DROP INDEX statewright.lease_by_worker')
  expect(await damagesOf(url)).toEqual([
    'column worker.is_lost: it was changed.',
    'function is_gone: it was changed.',
    'function join_worker: it is missing from the database.',
    'index lease_by_worker: it is missing from the database.',
  ])
})

test('PostgreSQL: a record or a row that cannot be read is damage, and keeps no other session from working', async () => {
  const url = await copyWith(`UPDATE record SET header = substr(header, 2) WHERE event_id = 3;
    UPDATE model_row SET value = '{' WHERE key IN ('ses_1', 'ses_3')`)
  const store = await open(url)
  const damaged = (what: string) => ({ code: 'store_damaged', details: { what } })
  await expect(store.read('ses_1')).rejects.toMatchObject(damaged('event 3'))
  await expect(store.row(subjects, 'ses_3')).rejects.toMatchObject(damaged('row ses_3'))
  // In one turn of the event loop, so in one transaction.
  const appended = ['ses_1', 'ses_4'].map((session_id) => store.append({ session_id, runes: [created(session_id)] }))
  const [first, other] = await Promise.allSettled(appended)
  expect(first).toMatchObject({ status: 'rejected', reason: damaged('row ses_1') })
  expect(other).toMatchObject({ status: 'fulfilled', value: [{ session_id: 'ses_4' }] })
  await store.close()
})
