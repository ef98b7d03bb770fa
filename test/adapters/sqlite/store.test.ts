import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { copyStore } from '../../../src/adapters/sqlite/copy.ts'
import { mountPoints } from '../../../src/adapters/sqlite/open-database.ts'
import { openSqliteReadOnly } from '../../../src/adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import type { RunelogOptions } from '../../../src/runelog/port.ts'
import { linesOf, type StoredRecord } from '../../../src/runes/record.ts'
import { collect, refusal, verify } from '../../conformance/runelog/store.ts'
import { closed, created, opening, plain } from '../../support/drafts.ts'
import { temporaryFolder } from '../../support/temporary.ts'

async function store(folder = temporaryFolder(), options: RunelogOptions = {}) {
  const path = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts, options)
  onTestFinished(() => runelog.close())
  return { runelog, path, folder }
}

async function withSession(options?: RunelogOptions) {
  const opened = await store(undefined, options)
  await opened.runelog.append({
    session_id: 'ses_1',
    runes: [created('ses_1'), opening('interaction', 'int_1', { prompt: 'code XY-4711?' })],
  })
  return opened
}

test('F-80 sibling, lock: a link to a store that is open does not open it a second time', async () => {
  const { runelog, path, folder } = await withSession()
  const link = join(folder, 'link.db')
  symlinkSync(path, link)
  expect(await refusal(openSqliteRunelog(link, hostPorts))).toMatchObject({ code: 'store_locked' })
  // Nor when it is closed: its files have another name.
  await runelog.close()
  const refused = {
    code: 'store_unusable',
    message: expect.stringContaining(`it is a link to ${path}, `),
  }
  expect(await refusal(openSqliteRunelog(link, hostPorts))).toMatchObject(refused)
  expect(await refusal(openSqliteReadOnly(link))).toMatchObject(refused)
})

test('F-96 lock: a database file with two names (hard links) is opened, read and copied under neither', async () => {
  // GIVEN a store that is open, and the same file in another folder
  const { runelog, path, folder } = await withSession()
  const second = join(folder, 'elsewhere', 'store.db')
  mkdirSync(join(folder, 'elsewhere'))
  linkSync(path, second)
  const refused = {
    code: 'store_unusable',
    message: expect.stringMatching(
      /the file has 2 names \(hard links\), .* Delete the other name, or make it a copy\.$/,
    ),
  }
  // THEN it is refused there, its holder is named here, and the holder goes on
  expect(await refusal(openSqliteRunelog(second, hostPorts))).toMatchObject(refused)
  expect(existsSync(`${second}-wal`)).toBe(false)
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({ code: 'store_locked' })
  accepted(await runelog.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta')] }))
  // AND once it is closed, neither name opens it
  await runelog.close()
  for (const name of [path, second]) {
    expect(await refusal(openSqliteRunelog(name, hostPorts))).toMatchObject(refused)
    expect(await refusal(openSqliteReadOnly(name))).toMatchObject(refused)
    expect(() => copyStore(name, join(folder, 'copy'), '')).toThrow('2 names')
  }
  // AND when the other name is deleted, it opens
  rmSync(second)
  const again = await openSqliteRunelog(path, hostPorts)
  expect(await again.head('ses_1')).toMatchObject({ event_id: 3 })
  await again.close()
})

test('F-96 lock: a name that is refused gets no guard, and a guard that is there stays', async () => {
  // GIVEN a closed store with its guard, and two more names of its database in a folder without one
  const { runelog, path, folder } = await withSession()
  await runelog.close()
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere)
  linkSync(path, join(elsewhere, 'hard.db'))
  symlinkSync('hard.db', join(elsewhere, 'soft.db'))
  // THEN each is refused, and nothing is made next to it
  for (const name of ['hard.db', 'soft.db'])
    for (const open of [
      () => openSqliteRunelog(join(elsewhere, name), hostPorts),
      () => openSqliteReadOnly(join(elsewhere, name)),
    ])
      expect(await refusal(open())).toMatchObject({ code: 'store_unusable' })
  expect(readdirSync(elsewhere).sort()).toEqual(['hard.db', 'soft.db'])
  // AND the first name is refused, too, and keeps the guard that it had
  expect(existsSync(`${path}.guard`)).toBe(true)
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({ code: 'store_unusable' })
  expect(existsSync(`${path}.guard`)).toBe(true)
})

test('F-106 lock: archived logs without their database get no guard', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'store.db')
  mkdirSync(`${path}.segments`)
  writeFileSync(join(`${path}.segments`, 'ses_1-0123456789abcdef.ndjson.zst'), '')
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({ code: 'store_unusable' })
  expect(readdirSync(folder)).toEqual(['store.db.segments'])
})

test('F-96 lock: mount points are read from mountinfo, with their octal escapes decoded', () => {
  const text = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    String.raw`36 22 8:1 /a/my\040store.db /b/my\040store\134\011.db rw shared:1 master:2 - ext4 /dev/sda1 rw`,
    '',
  ].join('\n')
  const points = mountPoints(text)
  expect(points).toContain('/')
  expect(points).toContain('/b/my store\\\t.db')
  expect(points).not.toContain('/a/my store.db')
})

test('F-103 lock: a store whose guard was replaced acknowledges nothing more, and leaves the name of the next holder', async () => {
  // GIVEN two stores that are open on one file, since the guard was deleted between
  const { runelog, path } = await withSession()
  rmSync(`${path}.guard`)
  const next = await openSqliteRunelog(path, hostPorts)
  onTestFinished(() => next.close())
  // THEN the first takes no more
  const late = runelog.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta')] })
  expect(await refusal(late)).toMatchObject({
    code: 'store_poisoned',
    details: { cause: `${path}.guard was removed or replaced while it was open` },
  })
  // AND it does not take the name of the second away
  await runelog.close()
  expect(existsSync(`${path}.lock`)).toBe(true)
})

test('store: the database itself refuses to change or remove a record', async () => {
  const { runelog, path } = await withSession()
  const key = { irreversible: true, idempotency_key: 'pay-1', key_scope: 'global' }
  accepted(await runelog.append({ session_id: 'ses_1', runes: [opening('contract', 'exe_1', key)] }))
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  for (const sql of [
    "UPDATE record SET payload = '{}\n{}'",
    "UPDATE record SET payload = '{}\n{}', salt = char(10)",
    "UPDATE record SET payload = '{}\n{}', salt = substr(salt, 33)",
    'UPDATE record SET salt = salt || char(10)',
    "UPDATE record SET header = '{}', salt = char(10)",
    'UPDATE record SET hash = zeroblob(32), salt = char(10)',
    'UPDATE record SET event_id = 9',
    'UPDATE record SET session = 9',
    'UPDATE record SET position = 9',
    'DELETE FROM record WHERE event_id = 2',
    'DELETE FROM record',
    "UPDATE opening SET key = 'other'",
    'DELETE FROM opening',
    "UPDATE session SET session_id = 'ses_9'",
    'DELETE FROM session',
  ])
    expect(() => db.exec(sql), sql).toThrow('the runelog is append-only')
})

test('store: a redaction opens the door for its own payload and for nothing else', async () => {
  const { runelog, path } = await withSession()
  // GIVEN a commit of events 3 to 5, of which the redaction of 4 is recorded, and undone in the file
  const runes = [1, 2, 3].map(() => plain('turn.assistant_delta'))
  accepted(await runelog.append({ session_id: 'ses_1', runes }))
  const { payload, salt } = (await collect(runelog.records('ses_1')))[1] as StoredRecord
  await runelog.redact('ses_1', 4, 'r')
  await runelog.close()
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  const trigger = String(db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'record_is_never_changed'").get()?.sql)
  db.exec('DROP TRIGGER record_is_never_changed')
  db.prepare('UPDATE record SET payload = ?, salt = ? WHERE event_id = 5').run(payload, salt)
  db.exec(trigger)

  // THEN no salt goes but that of event 4, and no content changes without it
  const erase = (lines: readonly number[]) =>
    linesOf(salt)
      .map((line, i) => (lines.includes(i) ? '' : line))
      .join('\n')
  const update = db.prepare('UPDATE record SET payload = ?, salt = ? WHERE event_id = ?')
  const other = salt.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const changed of [erase([0]), erase([2]), erase([0, 1]), erase([0, 1, 2]), salt, other, `${erase([1])}\n`, ''])
    expect(() => update.run('{}\n{}\n{}', changed, 5), changed).toThrow('append-only')
  expect(() => update.run('{}\n{}', '\n', 2)).toThrow('append-only')
  update.run(payload, erase([1]), 5)
})

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )

const bytesIn = (folder: string) =>
  filesIn(folder)
    .map((file) => readFileSync(file, 'latin1'))
    .join('')

/** As `bytesIn`, with what is compressed unpacked. */
const unpackedIn = (folder: string) =>
  filesIn(folder)
    .map((file) =>
      file.endsWith('.zst') ? zstdDecompressSync(readFileSync(file)).toString('latin1') : readFileSync(file, 'latin1'),
    )
    .join('')

test('store: redacted content is on no page of any file', async () => {
  const { runelog, folder } = await withSession()
  expect(bytesIn(folder)).toContain('XY-4711')
  await runelog.redact('ses_1', 2, 'r')
  expect(bytesIn(folder)).not.toContain('XY-4711')
})

test('store: content redacted in cold storage is in no file', async () => {
  const { runelog, folder, path } = await withSession()
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  const before = readdirSync(`${path}.segments`)
  await runelog.redact('ses_1', 2, 'r')
  expect(readdirSync(`${path}.segments`)).not.toEqual(before)
  expect(readdirSync(`${path}.segments`)).toHaveLength(1)
  expect(unpackedIn(folder)).not.toContain('XY-4711')
  expect(await verify(runelog, 'ses_1')).toBeUndefined()
})

test('F-84 redaction: a process that is killed before the files are gone leaves them to the next one', async () => {
  // GIVEN a redaction in cold storage that is recorded, and a process that cannot remove the files
  const erased: string[] = []
  const ref = `blob_${'0'.repeat(64)}`
  const eraseBlobs = async (refs: readonly string[]) => void erased.push(...refs)
  const { runelog, path, folder } = await withSession({ eraseBlobs: () => Promise.reject(new Error('killed')) })
  accepted(await runelog.append({ session_id: 'ses_1', runes: [plain('tool.result', { output_ref: ref })] }))
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  const [before = ''] = readdirSync(`${path}.segments`)
  const old = readFileSync(join(`${path}.segments`, before))
  await expect(runelog.redact('ses_1', 3, 'r')).rejects.toThrow('killed')
  await runelog.close()
  writeFileSync(join(`${path}.segments`, before), old)

  // WHEN the next one opens the store, THEN it removes those files and no others
  writeFileSync(join(`${path}.segments`, `other-${before}`), old)
  const again = (await store(folder, { eraseBlobs })).runelog
  expect(readdirSync(`${path}.segments`)).not.toContain(before)
  expect(readdirSync(`${path}.segments`)).toContain(`other-${before}`)
  expect(erased).toEqual([ref])
  expect(await verify(again, 'ses_1')).toBeUndefined()
  await again.close()
  await store(folder, { eraseBlobs })
  expect(erased).toEqual([ref])
})

test('store: archiving empties the table and keeps the log', async () => {
  const { runelog, path } = await withSession()
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  const before = await collect(runelog.records('ses_1'))
  await runelog.archive('ses_1')
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  expect(db.prepare('SELECT event_id FROM record').all()).toEqual([{ event_id: 5 }])
  expect(before.map(({ event_id }) => event_id)).toEqual([2, 4])
  expect((await collect(runelog.records('ses_1'))).slice(0, 2)).toEqual(before)
})

test('store: every file of a store is for its owner only', async () => {
  const { runelog, folder } = await withSession()
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  const files = filesIn(folder)
  expect(files.map((file) => file.slice(folder.length + 1)).sort()).toEqual([
    'store.db',
    'store.db-shm',
    'store.db-wal',
    'store.db.guard',
    'store.db.lock',
    expect.stringMatching(/^store\.db\.segments.ses_1-[0-9a-f]{16}\.ndjson\.zst$/),
  ])
  for (const file of files) expect((statSync(file).mode & 0o777).toString(8), file).toBe('600')
})

test('store: appends that arrive together share one transaction', async () => {
  const { runelog, path } = await store()
  const sessions = Array.from({ length: 16 }, (_, i) => `ses_${i}`)
  await Promise.all(sessions.map((session_id) => runelog.append({ session_id, runes: [created(session_id)] })))
  const told: (readonly string[])[] = []
  runelog.watch((session_ids) => told.push(session_ids))
  await Promise.all(
    sessions.map((session_id) => runelog.append({ session_id, runes: [plain('turn.assistant_delta')] })),
  )
  expect(told).toEqual([sessions])
  expect(existsSync(path)).toBe(true)
})

test('store: a second opening is refused with the process that holds the store, also in the same process', async () => {
  const { path } = await store()
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({
    code: 'store_locked',
    details: { store: path, pid: process.pid },
  })
})

test('store: a failed opening leaves no lock behind', async () => {
  const path = join(temporaryFolder(), 'store.db')
  writeFileSync(path, 'this is not a database, though it is long enough to be looked at as one'.repeat(20))
  for (let i = 0; i < 2; i++)
    expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({
      code: 'store_unusable',
      details: { problem: 'it is not a database.' },
    })
  expect(readFileSync(path, 'utf8')).toContain('this is not a database')
})

test.each([
  ['a database of another program', 'CREATE TABLE t (a)', 'it is a database of another program'],
  ['a store of a newer version', 'PRAGMA user_version = 7', 'newer version (schema 7)'],
  ['F-81 a store of 0.1', 'PRAGMA user_version = 3', 'it was written by 0.1 (schema 3)'],
])('store: %s is refused and left as it was', async (_, sql, problem) => {
  const folder = temporaryFolder()
  const path = join(folder, 'store.db')
  if (sql.startsWith('PRAGMA')) await (await openSqliteRunelog(path, hostPorts)).close()
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  const before = readFileSync(path)
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({
    code: 'store_unusable',
    message: expect.stringContaining(problem),
  })
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('store: a folder that does not exist is named', async () => {
  const path = join(temporaryFolder(), 'none', 'store.db')
  expect(await refusal(openSqliteRunelog(path, hostPorts))).toMatchObject({
    code: 'store_unusable',
    message: expect.stringContaining('its folder does not exist'),
  })
})

test('store: a file that may not be written is refused when the store opens', async () => {
  const { runelog, path, folder } = await withSession()
  await runelog.close()
  chmodSync(path, 0o444)
  // Root may write anything, so the attempt is made by someone else where there is a choice.
  const script = `
    import { hostPorts } from ${JSON.stringify(new URL('../../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openDatabase } from ${JSON.stringify(new URL('../../../src/adapters/sqlite/open-database.ts', import.meta.url).href)}
    if (process.getuid?.() === 0) process.setuid(65534)
    try { openDatabase(process.argv[1]); console.log('opened', hostPorts.now()) } catch (error) { console.log(error.code, error.message) }`
  chmodSync(folder, 0o777)
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script, path], { encoding: 'utf8' })
  expect(said).toContain('store_unusable')
  expect(said).toContain('it may be read but not written')
})

test('store: after an error while writing the store says unknown to everything, and opening it again tells the truth', async () => {
  const { runelog, path, folder } = await withSession()
  const intruder = new DatabaseSync(path)
  intruder.exec("CREATE TRIGGER sabotage BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'sabotage'); END")
  intruder.close()

  const poisoned = { code: 'store_poisoned', details: { outcome: 'unknown', cause: 'sabotage' } }
  const request = runelog.append({ session_id: 'ses_1', runes: [opening('contract', 'exe_1')] })
  expect(await refusal(request)).toMatchObject(poisoned)
  expect(await refusal(runelog.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta')] }))).toMatchObject(
    poisoned,
  )
  expect(await refusal(runelog.read('ses_1'))).toMatchObject(poisoned)
  await runelog.close()

  const again = (await store(folder)).runelog
  expect(await again.read('ses_1')).toHaveLength(2)
  expect(await verify(again, 'ses_1')).toBeUndefined()
})
