import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { keyFileOf } from '../../src/app/store-key.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { created, madeAndClosed, plain } from '../support/drafts.ts'
import { putRecord, recordsIn, relinked, replaced, textOfHeader, withPacking } from '../support/records.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

let folder: string
let path: string
const store = () => ['--store', `sqlite:${path}`]

/** Ten events in ten commits of one session, six in one commit of another, which is closed. */
beforeEach(async () => {
  folder = temporaryFolder()
  path = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  for (let i = 2; i <= 10; i++)
    accepted(
      await runelog.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta', { content: `piece ${i}` })] }),
    )
  accepted(await runelog.append({ session_id: 'ses_2', runes: madeAndClosed('ses_2') }))
  await runelog.close()
})

/** An attacker with the file removes the triggers, and restores them afterwards. */
function tampering(work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path)
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  withPacking(db)
  work(db)
  for (const { sql } of triggers) db.exec(String(sql))
  db.close()
}

function tamper(sql: string): void {
  tampering((db) => db.exec(sql))
}

/** Changes one payload and recomputes every hash after it. */
function rechain(from: number): void {
  tampering((db) => rechainIn(db, from))
}

function rechainIn(db: DatabaseSync, from: number): void {
  const forged = recordsIn(db, 1).map((record) =>
    record.event_id === from ? { ...record, payload: record.payload.replace('piece', 'forged') } : record,
  )
  for (const record of relinked(forged)) putRecord(db, record)
}

const ids = "(SELECT id FROM session WHERE session_id = 'ses_1')"

describe('verify', () => {
  test('verify: a sound store verifies, session by session', async () => {
    const { exit, out, err } = await runCli(['verify', ...store()])
    expect({ exit, err }).toEqual({ exit: 0, err: '' })
    expect(out).toMatch(
      /^ses_1: 10 events, 0 checkpoints, head [0-9a-f]{64}\nses_2: 6 events, .*\n2 sessions verified\.$/,
    )
    expect(await runCli(['verify', 'ses_2', ...store()])).toMatchObject({
      exit: 0,
      out: expect.not.stringContaining('ses_1'),
    })
  })

  test.each([
    ['flip', `UPDATE record SET payload = ${replaced('piece', 'Piece')} WHERE session = ${ids} AND event_id = 4`, 4],
    [
      'header',
      `UPDATE record SET header = replace(${textOfHeader}, 'graph_runner', 'human') WHERE session = ${ids} AND event_id = 4`,
      4,
    ],
    ['delete', `DELETE FROM record WHERE session = ${ids} AND event_id = 5`, 5],
    [
      'swap',
      `UPDATE record SET event_id = 99 WHERE session = ${ids} AND event_id = 3;
       UPDATE record SET event_id = 3 WHERE session = ${ids} AND event_id = 6;
       UPDATE record SET event_id = 6 WHERE session = ${ids} AND event_id = 99`,
      3,
    ],
    [
      'insert',
      `INSERT INTO record (session, event_id, header, payload, salt, hash)
       SELECT session, 11, header, payload, salt, hash FROM record WHERE session = ${ids} AND event_id = 7`,
      11,
    ],
    ['erase', `UPDATE record SET payload = '{}', salt = '' WHERE session = ${ids} AND event_id = 8`, 8],
  ])('%s: exits 5 and names the first bad event', async (_, sql, event_id) => {
    tamper(sql)
    const { exit, err } = await runCli(['verify', ...store()])
    expect({ exit, err }).toEqual({ exit: 5, err: expect.stringMatching(new RegExp(`^ses_1 event ${event_id}: `)) })
  })

  test('verify: a truncated and re-chained log is found with checkpoints that were kept elsewhere', async () => {
    const kept = join(folder, 'kept.ndjson')
    expect(await runCli(['checkpoint', ...store(), '-o', kept])).toMatchObject({ exit: 0 })
    expect((statSync(keyFileOf(`sqlite:${path}`)).mode & 0o777).toString(8)).toBe('600')
    const verify = () => runCli(['verify', ...store(), '--checkpoints', kept])
    expect(await verify()).toMatchObject({ exit: 0, out: expect.stringContaining('ses_1: 10 events, 1 checkpoints') })

    rechain(6)
    expect(await runCli(['verify', ...store()])).toMatchObject({ exit: 0 })
    expect(await verify()).toMatchObject({
      exit: 5,
      err: expect.stringMatching(/^ses_1 event 10: .*not the one that was signed/),
    })

    tamper(`DELETE FROM record WHERE session = ${ids} AND event_id > 8`)
    tamper("UPDATE meta SET value = (SELECT max(position) FROM record) WHERE name = 'folded'")
    expect(await runCli(['verify', ...store()])).toMatchObject({ exit: 0 })
    expect(await verify()).toMatchObject({ exit: 5, err: expect.stringMatching(/^ses_1 event 9: it is missing/) })
  })

  test.each([
    [
      'a second copy of the last event',
      'INSERT INTO record SELECT (SELECT max(position) + 1 FROM record), session, 11, header, payload, salt, hash FROM record WHERE session = 1 AND event_id = 10',
      [],
    ],
    [
      'a second opening',
      'INSERT INTO record SELECT (SELECT max(position) + 1 FROM record), session, 11, header, payload, salt, hash FROM record WHERE session = 1 AND event_id = 1',
      ['ps', 'show', 'rebuild', 'export'],
    ],
    [
      'a number of an event that no double holds',
      'UPDATE record SET event_id = 9223372036854775807 WHERE session = 1 AND event_id = 10',
      ['show', 'rebuild', 'export'],
    ],
    [
      'a place that no double holds',
      'UPDATE record SET position = 9223372036854775806 WHERE session = 1 AND event_id = 10',
      ['show', 'rebuild', 'export'],
    ],
    ['a session without its row', "DELETE FROM session WHERE session_id = 'ses_1'", []],
  ])('F-92 damage: %s is named with exit 5, and no stack is printed', async (_, sql, commands) => {
    tamper(sql)
    for (const command of ['verify', ...commands]) {
      const all: Record<string, string[]> = { show: ['ses_1'], export: ['ses_1', '-o', join(folder, 'out.ndjson')] }
      const named = all[command] ?? []
      const { exit, err } = await runCli([command, ...named, ...store()])
      expect({ command, exit, err }).toEqual({ command, exit: 5, err: expect.not.stringMatching(/\n\s+at /) })
    }
  })

  test('F-92 doctor: a damaged event is named, and the exit says so', async () => {
    expect(await runCli(['doctor', ...store()])).toMatchObject({
      exit: 0,
      out: expect.stringContaining('events verify'),
    })
    tamper(`UPDATE record SET payload = ${replaced(':', ': ')} WHERE session = 1 AND event_id = 10`)
    const { exit, out, err } = await runCli(['doctor', ...store()])
    expect(exit).toBe(1)
    expect(out).toMatch(/bad +record +ses_1 event 10: /)
    expect(err).toContain('statewright verify')
  })

  test.each(['an empty file', '/dev/null'])(
    'F-92 verify: %s of checkpoints is refused, nothing was compared',
    async (kind) => {
      const kept = kind === '/dev/null' ? kind : join(folder, 'kept.ndjson')
      if (kept !== kind) writeFileSync(kept, '')
      expect(await runCli(['verify', ...store(), '--checkpoints', kept])).toMatchObject({
        exit: 2,
        err: expect.stringContaining('holds no checkpoint, so nothing was compared'),
      })
    },
  )

  test('verify: a checkpoint that was edited, or signed by someone else, does not count', async () => {
    const { out } = await runCli(['checkpoint', 'ses_1', ...store()])
    const kept = join(folder, 'kept.ndjson')
    writeFileSync(kept, out.replace('"event_id":10', '"event_id":9'))
    expect(await runCli(['verify', ...store(), '--checkpoints', kept])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('Its signature does not fit what it says.'),
    })
    writeFileSync(kept, out)
    expect(await runCli(['verify', ...store(), '--checkpoints', kept, '--key', 'ab'.repeat(32)])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('It was signed with the key'),
    })
  })
})

describe('export', () => {
  const bundle = () => join(folder, 'ses_1.bundle')
  const lines = () => readFileSync(bundle(), 'utf8').trimEnd().split('\n')
  const verify = (...more: string[]) => runCli(['verify', '--bundle', bundle(), ...more])

  beforeEach(async () => {
    expect(await runCli(['export', 'ses_1', '-o', bundle(), ...store()])).toMatchObject({ exit: 0 })
  })

  test('export: a bundle verifies without the store it came from', async () => {
    for (const file of ['', '-wal', '-shm', '.pub']) rmSync(`${path}${file}`, { force: true })
    rmSync(keyFileOf(`sqlite:${path}`))
    expect(lines()).toHaveLength(12)
    expect(await verify()).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^ses_1: 10 events, signed with the key [0-9a-f]{64}$/),
    })
  })

  test.each<readonly [string, (lines: readonly string[]) => readonly string[], number]>([
    ['flip', (all) => all.with(4, (all[4] as string).replace('piece', 'Piece')), 4],
    ['delete', (all) => all.toSpliced(5, 1), 5],
    ['swap', (all) => all.with(3, all[4] as string).with(4, all[3] as string), 3],
    ['insert', (all) => all.toSpliced(6, 0, all[6] as string), 7],
    ['truncate', (all) => all.toSpliced(9, 2), 9],
    ['remove the checkpoint', (all) => all.slice(0, -1), 11],
    ['add after the checkpoint', (all) => [...all, all[10] as string], 11],
    ['edit the checkpoint', (all) => all.with(11, (all[11] as string).replace('"event_id":10', '"event_id":9')), 9],
    ['tear the last line', (all) => all.with(11, (all[11] as string).slice(0, 40)), 11],
  ])('%s: exits 5 and names the first bad event', async (_, change, event_id) => {
    writeFileSync(bundle(), `${change(lines()).join('\n')}\n`)
    expect(await verify()).toMatchObject({
      exit: 5,
      err: expect.stringMatching(new RegExp(`^ses_1 event ${event_id}: `)),
    })
  })

  test('verify: a bundle that another key signed again is found with the right --key', async () => {
    const known = (JSON.parse(lines().at(-1) as string) as { checkpoint: { public_key: string } }).checkpoint.public_key
    expect(await verify('--key', known)).toMatchObject({ exit: 0 })
    rechain(6)
    rmSync(keyFileOf(`sqlite:${path}`))
    rmSync(`${path}.pub`)
    await runCli(['export', 'ses_1', '-o', bundle(), ...store()])
    expect(await verify()).toMatchObject({ exit: 0 })
    expect(await verify('--key', known)).toMatchObject({
      exit: 5,
      err: expect.stringContaining('was signed with the key'),
    })
  })
})

test('runelog commands: redact, archive and rebuild report their effect, and the store still verifies', async () => {
  expect(await runCli(['redact', 'ses_1', '4', '--reason', 'a name', ...store()])).toMatchObject({ exit: 0, err: '' })
  expect(await runCli(['archive', 'ses_2', ...store()])).toMatchObject({ exit: 0, err: '' })
  expect(await runCli(['rebuild', ...store()])).toEqual({ exit: 0, err: '', out: '18 runes folded.' })
  expect(await runCli(['verify', ...store()])).toMatchObject({ exit: 0, err: '' })
  expect(await runCli(['export', 'ses_2', '-o', join(folder, 'b'), ...store()])).toMatchObject({
    exit: 0,
    err: `Next: statewright verify --bundle ${join(folder, 'b')}`,
  })
  expect(await runCli(['verify', '--bundle', join(folder, 'b')])).toMatchObject({ exit: 0, err: '' })
})

test('checkpoint: with --json it prints JSON, also about the file that it added to', async () => {
  const lines = (await runCli(['checkpoint', '--json', ...store()])).out.split('\n')
  const signed = lines.map((line) => JSON.parse(line) as { checkpoint: { session_id: string; public_key: string } })
  expect(signed.map(({ checkpoint }) => checkpoint.session_id)).toEqual(['ses_1', 'ses_2'])
  const file = join(folder, 'kept.ndjson')
  const { exit, out } = await runCli(['checkpoint', '--json', '-o', file, ...store()])
  expect(exit).toBe(0)
  expect(JSON.parse(out)).toEqual({ file, checkpoints: 2, public_key: signed[0]?.checkpoint.public_key })
  const refused = await runCli(['checkpoint', '--json', '-o', folder, ...store()])
  expect(JSON.parse(refused.err)).toMatchObject({ code: 'file_unusable' })
})

test.each(['/proc/x', '/proc/a/b', '/dev/null/x'])(
  'backup: a folder that cannot be made (%s) is refused',
  async (folder) => {
    const refused = await runCli(['backup', folder, ...store()])
    expect(refused).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`${folder} cannot be used: it cannot be made (`),
    })
    expect(refused.err).toContain('Name another folder.')
  },
)

test('backup: of a file that is no database nothing is left behind', async () => {
  const into = temporaryFolder()
  writeFileSync(join(into, 'passwd'), 'root:x:0:0\n'.repeat(1_000))
  const { exit } = await runCli(['backup', join(into, 'y'), '--store', `sqlite:${join(into, 'passwd')}`])
  expect(exit).not.toBe(0)
  expect(readdirSync(into)).toEqual(['passwd'])
})

test('runelog commands: a backup is taken while the store is held, verifies by itself, and is not written over', async () => {
  await runCli(['archive', 'ses_2', ...store()])
  const held = await openSqliteRunelog(path, hostPorts)
  const copy = join(folder, 'backups', 'monday')
  const backup = () => runCli(['backup', copy, ...store()])
  expect(await backup()).toMatchObject({ exit: 0, out: `Copied to sqlite:${copy}/store.db.` })
  accepted(await held.append({ session_id: 'ses_1', runes: [plain('turn.assistant_delta', { content: 'later' })] }))
  await held.close()
  expect((statSync(join(copy, 'store.db')).mode & 0o777).toString(8)).toBe('600')
  const { exit, out } = await runCli(['verify', '--store', `sqlite:${copy}/store.db`])
  expect(exit).toBe(0)
  expect(out).toMatch(/^ses_1: 10 events.*\nses_2: 7 events/)
  expect(await backup()).toMatchObject({ exit: 1, err: expect.stringContaining('it exists already') })
})

test.each([
  ['an event in the middle', 'event_id = 5', 5],
  ['the first event', 'event_id = 1', 1],
  ['every event', 'event_id > 0', 1],
])('F-95 verify: a fresh backup without %s is named with exit 5', async (_, which, first) => {
  const copy = join(folder, 'backups', 'monday')
  expect(await runCli(['backup', copy, ...store()])).toMatchObject({ exit: 0 })
  path = join(copy, 'store.db')
  tamper(`DELETE FROM record WHERE session = 1 AND ${which}`)
  const { exit, err } = await runCli(['verify', ...store()])
  expect(exit).toBe(5)
  expect(err).not.toMatch(/\n\s+at /)
  expect(err).toMatch(new RegExp(`event ${first}\\b|folded|session ses_1`))
})

test('runelog commands: a damaged segment is named as a bad event', async () => {
  await runCli(['archive', 'ses_2', ...store()])
  const db = new DatabaseSync(path)
  const { file } = db.prepare('SELECT file FROM segment').get() as { file: string }
  db.close()
  writeFileSync(join(`${path}.segments`, file), 'nonsense')
  expect(await runCli(['verify', 'ses_2', ...store()])).toMatchObject({
    exit: 5,
    err: expect.stringMatching(/^ses_2 event 1: it cannot be read/),
  })
})

test.each([
  [['verify', 'ses_9'], 3, 'There is no session ses_9.'],
  [['export', 'ses_9', '-o', 'x'], 3, 'There is no session ses_9.'],
  [['checkpoint', 'ses_9'], 3, 'There is no session ses_9.'],
  [['archive', 'ses_1'], 6, 'session ses_1 is created and refuses "archive"'],
  [['redact', 'ses_1', '99', '--reason', 'r'], 3, 'There is no event 99 of ses_1.'],
])('runelog commands: %j is refused with the exit code %i and a sentence', async (args, exit, sentence) => {
  expect(await runCli([...args, ...store()])).toMatchObject({ exit, err: expect.stringContaining(sentence) })
})

test.each([
  [['redact', 'ses_1', 'four', '--reason', 'r']],
  [['redact', 'ses_1', '4']],
  [['export', 'ses_1']],
  [['archive']],
  [['rebuild', 'now']],
  [['verify', 'a', 'b']],
  [['verify', 'ses_1', '--bundle', 'x']],
  [['verify', '--bundle', 'x', '--key', 'zz']],
  [['verify', '--key', `${'a'.repeat(64)},`]],
])('runelog commands: %j is not understood', async (args) => {
  expect(await runCli(args)).toMatchObject({ exit: 2, err: expect.stringContaining('usage: statewright') })
})

test.each(['1e1', '0x5', ' 6 ', '0b11', '+4', '4.0', '0', '٤', ''])(
  'redact: %j is no event number, and nothing is erased',
  async (event) => {
    const refused = await runCli(['redact', 'ses_1', event, '--reason', 'r', ...store()])
    expect(refused).toMatchObject({
      exit: 2,
      err: expect.stringContaining('EVENT_ID takes a whole number from 1 in decimal digits'),
    })
    const { out } = await runCli(['verify', 'ses_1', ...store()])
    expect(out).toMatch(/^ses_1: 10 events/)
    expect(out).not.toContain('redacted')
  },
)

test.each([
  ['ps', '--limit', '1e1'],
  ['replay', 'ses_1', '--at', '0x5'],
  ['serve', '--port', '0x10'],
  ['serve', '--port', ' 80'],
  ['serve', '--port', ''],
  ['serve', '--port', '65536'],
])('runelog commands: %s %s takes decimal digits only', async (...args) => {
  expect(await runCli(args)).toMatchObject({ exit: 2, err: expect.stringContaining('takes a whole number') })
})

test('runelog commands: a store that is not there is not made', async () => {
  for (const url of [`sqlite:${folder}/none.db`, 'mysql:x'])
    expect(await runCli(['verify', '--store', url])).toMatchObject({
      exit: 7,
      err: expect.stringContaining('cannot be used'),
    })
  expect(await runCli(['verify', '--bundle', `${folder}/none`])).toMatchObject({
    exit: 1,
    err: expect.stringContaining('cannot be used'),
  })
})
