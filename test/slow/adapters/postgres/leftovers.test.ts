import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openPostgresRunelog } from '../../../../src/adapters/postgres/runelog.ts'
import { accepted } from '../../../../src/faults/catalogue.ts'
import { createSegments } from '../../../../src/runelog/segment.ts'
import { collect, verify } from '../../../conformance/runelog/store.ts'
import { closed, created, opening } from '../../../support/drafts.ts'
import { leaveBehind } from '../../../support/leave-behind.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const url = await freshDatabase()

async function open(segments: string) {
  const runelog = await openPostgresRunelog(url, hostPorts, { segments })
  onTestFinished(runelog.close)
  return runelog
}

async function withSession(session_id: string) {
  const segments = temporaryFolder()
  const runelog = await open(segments)
  const runes = [created(session_id), opening('interaction', `int_${session_id}`, { prompt: 'code XY-4711?' })]
  accepted(await runelog.append({ session_id, runes }))
  const archive = async () => {
    accepted(await runelog.append({ session_id, runes: closed(session_id) }))
    await runelog.archive(session_id)
  }
  const leave = async () => leaveBehind(segments, session_id, await collect(runelog.records(session_id)))
  return { runelog, segments, archive, leave }
}

const notes = () => ask(url, "SELECT name FROM statewright.meta WHERE name LIKE 'erasing %'")

test('PostgreSQL: a redaction removes drafts and second copies of its session, and nothing else', async () => {
  const { runelog, segments, archive, leave } = await withSession('ses_1')
  await leave()
  accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
  const records = await collect(runelog.records('ses_2'))
  const others = await leaveBehind(segments, 'ses_2', records)
  const unknown = records.map((record) => ({ ...record, hash: 'f'.repeat(64), position: 1 }))
  const { segment: only } = await createSegments(segments).write('ses_1', unknown)

  await runelog.redact('ses_1', 2, 'r')
  expect(readdirSync(segments).sort()).toEqual([...others, only].sort())

  await leave()
  await archive()
  expect(readdirSync(segments)).toHaveLength(others.length + 2)
  await leave()
  await runelog.redact('ses_1', 4, 'r')
  expect(readdirSync(segments)).toHaveLength(others.length + 2)
  expect(await verify(runelog, 'ses_1')).toBeUndefined()
  expect(await notes()).toEqual([])
})

test('PostgreSQL: a process that ends before the files are gone leaves them to the next one with the same folder', async () => {
  // GIVEN a redaction in cold storage that is recorded, and a process that cannot remove the replaced file
  const { runelog, segments, archive } = await withSession('ses_3')
  await archive()
  const [before = ''] = readdirSync(segments)
  const file = join(segments, before)
  const bytes = readFileSync(file)
  await runelog.read('ses_3')
  rmSync(file)
  mkdirSync(join(file, 'x'), { recursive: true })
  await expect(runelog.redact('ses_3', 2, 'r')).rejects.toThrow()
  await runelog.close()
  rmSync(file, { recursive: true })
  writeFileSync(file, bytes)

  // WHEN a process with another folder opens the store, THEN the file and its name stay
  await (await open(temporaryFolder())).close()
  expect(readdirSync(segments)).toContain(before)
  expect(await notes()).toEqual([{ name: `erasing ${before}` }])

  // WHEN one with the folder of the store does, THEN that file is gone and the other is there
  const again = await open(segments)
  expect(readdirSync(segments)).toHaveLength(1)
  expect(readdirSync(segments)).not.toContain(before)
  expect(await verify(again, 'ses_3')).toBeUndefined()
  expect(await notes()).toEqual([])
})

test('PostgreSQL: a note that was added to the database removes no file of another session, and none elsewhere', async () => {
  // GIVEN two archived sessions, and a file next to their folder
  const { runelog, segments, archive } = await withSession('ses_5')
  await archive()
  accepted(await runelog.append({ session_id: 'ses_6', runes: [created('ses_6'), ...closed('ses_6')] }))
  await runelog.archive('ses_6')
  const files = readdirSync(segments)
  const outside = join(segments, '..', 'outside-0123456789abcdef.ndjson.zst')
  writeFileSync(outside, 'x')
  onTestFinished(() => rmSync(outside, { force: true }))
  // WHEN notes of the one session name the file of the other, and the file outside
  const other = files.find((name) => name.startsWith('ses_6'))
  for (const file of [other, '../outside-0123456789abcdef.ndjson.zst'])
    await ask(url, `INSERT INTO statewright.meta VALUES ('erasing ${file}', 'ses_5')`)
  await runelog.close()
  const again = await open(segments)
  // THEN both stay, and the sessions can be read
  expect(readdirSync(segments).sort()).toEqual(files.sort())
  expect(readFileSync(outside, 'utf8')).toBe('x')
  expect(await verify(again, 'ses_6')).toBeUndefined()
  await ask(url, "DELETE FROM statewright.meta WHERE name LIKE 'erasing %'")
})
