import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { createRows } from '../../../src/adapters/sqlite/rows.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { subjects } from '../../../src/runelog/models.ts'
import { dump } from '../../conformance/runelog/store.ts'
import { closed, created, move, opening } from '../../support/drafts.ts'
import { temporaryFolder } from '../../support/temporary.ts'

async function store(folder = temporaryFolder()) {
  const path = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  onTestFinished(() => runelog.close())
  const db = new DatabaseSync(path, { readOnly: true })
  onTestFinished(() => db.close())
  const inTable = (key: string) =>
    db.prepare("SELECT value FROM model_row WHERE model = 'subjects' AND key = ?").get(key)?.value
  return { runelog, folder, inTable }
}

/** The rows that another process would find if this one were killed now. */
function asAfterDeath(folder: string): string {
  const copy = temporaryFolder()
  for (const name of ['store.db', 'store.db-wal']) cpSync(join(folder, name), join(copy, name))
  return copy
}

test('rows: rows that a killed process had not written are folded from the runes, and only from those after the last that were', async () => {
  // GIVEN a store whose table has the first rows, and not what came later
  const { runelog, folder, inTable } = await store()
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1'), opening('contract', 'exe_1')] }))
  await runelog.rows(subjects)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [move('contract', 'exe_1', ['pending', 'start'])] }))
  accepted(await runelog.append({ session_id: 'ses_1', runes: [opening('contract', 'exe_2')] }))
  expect(inTable('exe_1')).toContain('pending')
  expect(inTable('exe_2')).toBeUndefined()

  // WHEN it is opened after a death
  const again = await store(asAfterDeath(folder))

  // THEN its rows are those of the last commit, each moved once
  expect(await dump(again.runelog)).toBe(await dump(runelog))
  expect((await again.runelog.row(subjects, 'exe_1'))?.value).toMatchObject({ state: 'running', version: 2 })
  expect(again.inTable('exe_2')).toContain('pending')
  const rows = await dump(again.runelog)
  await again.runelog.rebuild()
  expect(await dump(again.runelog)).toBe(rows)
})

test('rows: a list shows the last commit', async () => {
  const { runelog, inTable } = await store()
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1'), opening('interaction', 'int_1')] }))
  expect(inTable('int_1')).toBeUndefined()
  expect(await runelog.rows(subjects, { tag: 'interaction:open' })).toHaveLength(1)
  expect(inTable('int_1')).toContain('open')
})

test('rows: many rows are written without being asked for', async () => {
  const { runelog, inTable } = await store()
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  const contracts = Array.from({ length: 2_600 }, (_, i) => opening('contract', `exe_${i}`))
  accepted(await runelog.append({ session_id: 'ses_1', runes: contracts }))
  expect(inTable('exe_2599')).toContain('pending')
})

test('rows: long texts are written early, and in statements of a limited length', () => {
  const rows = createRows(() => undefined)
  const words = 'x'.repeat(300_000)
  const dueAt = Array.from({ length: 40 }, (_, i) => {
    rows.keep([{ model: 'search', key: `${i}`, row: { key: `${i}`, tag: null, sort: null, value: words } }])
    return rows.isDue()
  })
  expect(dueAt.indexOf(true)).toBe(13)
  const written = rows.write().flatMap(({ name, values }) => (name === 'putRows' ? [String(values[0])] : []))
  expect(written.flatMap((text) => JSON.parse(text))).toHaveLength(40)
  for (const { length } of written) expect(length).toBeLessThan(1_400_000)
  expect(rows.isDue()).toBe(false)
})

test('rows: archiving writes the rows before runes leave the table', async () => {
  const { runelog, folder } = await store()
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1'), opening('interaction', 'int_1')] }))
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  const copy = asAfterDeath(folder)
  cpSync(join(folder, 'store.db.segments'), join(copy, 'store.db.segments'), { recursive: true })
  const again = await store(copy)
  expect(await dump(again.runelog)).toBe(await dump(runelog))
})
