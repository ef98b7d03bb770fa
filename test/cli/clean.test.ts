import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { madeAndClosed } from '../support/drafts.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

let folder: string
let path: string
let older: string
const store = () => ['--store', `sqlite:${path}`]
const segments = () => readdirSync(`${path}.segments`)

/** Two closed sessions, the first archived; then a copy of the database is put aside; then the second is archived. */
beforeEach(async () => {
  folder = temporaryFolder()
  path = join(folder, 'store.db')
  older = join(folder, 'older.db')
  const archive = async (session_id: string) => {
    const runelog = await openSqliteRunelog(path, hostPorts)
    accepted(await runelog.append({ session_id, runes: madeAndClosed(session_id) }))
    await runelog.archive(session_id)
    await runelog.close()
  }
  await archive('ses_1')
  cpSync(path, older)
  await archive('ses_2')
})

const putOlderBack = () => cpSync(older, path)

test('F-106 store: an older database beside newer segments is opened, and every segment stays', async () => {
  putOlderBack()
  const before = segments()
  await (await openSqliteRunelog(path, hostPorts)).close()
  expect(await runCli(['rebuild', ...store()])).toMatchObject({ exit: 0 })
  expect(segments()).toEqual(before)
  expect(before).toHaveLength(2)
})

test('F-106 verify and doctor: a segment that the database does not know is reported', async () => {
  putOlderBack()
  const { exit, err } = await runCli(['verify', ...store()])
  expect(exit).toBe(0)
  expect(err).toMatch(
    /ses_2-[0-9a-f]{16}\.ndjson\.zst: the only copy of 6 events of ses_2; the database does not know them/,
  )
  const { unknown_files } = JSON.parse((await runCli(['verify', '--json', ...store()])).out)
  expect(unknown_files).toMatchObject([{ holds: 'only_copy', session_id: 'ses_2', events: 6 }])
  const { out } = await runCli(['doctor', '--json', ...store()])
  expect(JSON.parse(out).findings).toContainEqual(expect.objectContaining({ what: 'files', verdict: 'bad' }))
})

test('F-106 clean: without --delete nothing goes; with it drafts and copies go, and an only copy never does', async () => {
  putOlderBack()
  const [known = '', only = ''] = segments()
  // GIVEN a draft, a second copy of a known segment, and something that is no segment
  const [draft, copy, strange] = ['x.part', known.replace(/[0-9a-f]{16}/, '0123456789abcdef'), 'notes.txt']
  writeFileSync(join(`${path}.segments`, draft), 'x')
  cpSync(join(`${path}.segments`, known), join(`${path}.segments`, copy))
  writeFileSync(join(`${path}.segments`, strange), 'x')

  // WHEN it is looked at, THEN all is listed and all is there
  const { out, err } = await runCli(['clean', ...store()])
  for (const file of [draft, copy, strange, only]) expect(out).toContain(file)
  expect(out).not.toContain(known)
  expect(err).toContain('clean --delete')
  expect(segments()).toHaveLength(5)

  // WHEN it is cleaned, THEN only what nothing is lost with has gone
  const { files } = JSON.parse((await runCli(['clean', '--delete', '--json', ...store()])).out)
  expect(files.filter(({ deleted }: { deleted: boolean }) => deleted)).toHaveLength(2)
  expect(segments().sort()).toEqual([known, only, strange].sort())
  expect(await runCli(['verify', ...store()])).toMatchObject({ exit: 0 })
})

test.each(['verify', 'ps', 'doctor', 'rebuild', 'clean'])(
  'F-106 %s: a missing database beside archived logs is not made',
  async (command) => {
    rmSync(path)
    const { exit, out, err } = await runCli([command, ...store()])
    expect(exit).toBeGreaterThan(0)
    expect(out + err).toContain('holds 2 archived logs of it. Restore the database')
    expect(existsSync(path)).toBe(false)
    expect(segments()).toHaveLength(2)
  },
)

test.each(['missing', 'empty'])(
  'F-106 store: a %s database beside archived logs is refused by a process that works',
  async (how) => {
    rmSync(path)
    if (how === 'empty') writeFileSync(path, '')
    await expect(openSqliteRunelog(path, hostPorts)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining(`holds 2 archived logs of it. Restore the database`),
    })
    expect(segments()).toHaveLength(2)
  },
)

function change(sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

test.each([
  '{"segments":["../../victim.txt"],"blobs":[]}',
  '{"segments":["../victim.txt"],"blobs":[]}',
  '{"segments":["x/../../victim-0123456789abcdef.ndjson.zst"],"blobs":[]}',
  '{"segments":[],"blobs":["../victim.txt"]}',
  '{"segments":"../victim.txt"}',
  'null',
])('F-106 store: nothing is removed that the store did not make, though its database says %s', async (erasing) => {
  const victims = ['victim.txt', 'victim-0123456789abcdef.ndjson.zst'].map((name) => join(folder, name))
  for (const victim of victims) writeFileSync(victim, 'x')
  change(`INSERT OR REPLACE INTO meta (name, value) VALUES ('erasing', '${erasing}')`)
  await expect(openSqliteRunelog(path, hostPorts)).rejects.toMatchObject({ code: 'store_damaged' })
  expect((await runCli(['rebuild', ...store()])).err).toContain('meta erasing')
  const { exit, err } = await runCli(['verify', ...store()])
  expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining('meta erasing: it names files') })
  for (const victim of victims) expect(existsSync(victim)).toBe(true)
})

test('F-106 verify: a segment whose name leads out of its folder is damage', async () => {
  const [file = ''] = segments()
  cpSync(join(`${path}.segments`, file), join(folder, file))
  change(`DROP TRIGGER segment_only_changes_its_file; UPDATE segment SET file = '../${file}' WHERE file = '${file}'`)
  const { exit, err } = await runCli(['verify', ...store()])
  expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining('no archived log has such a name') })
})

test.each(['pipe', 'device'])('F-106 verify: a %s in place of a segment is damage and is not read', async (kind) => {
  const file = join(`${path}.segments`, segments()[0] ?? '')
  rmSync(file)
  if (kind === 'pipe') execFileSync('mkfifo', [file])
  else symlinkSync('/dev/zero', file)
  const { exit, err } = await runCli(['verify', ...store()])
  expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining('it is not a regular file') })
})
