import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileBlobs } from '../../../src/adapters/files/blobs.ts'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { copyStore } from '../../../src/adapters/sqlite/copy.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { namesIn } from '../../../src/runelog/files.ts'
import type { RunelogOptions } from '../../../src/runelog/port.ts'
import { createSegments } from '../../../src/runelog/segment.ts'
import { collect, verify } from '../../conformance/runelog/store.ts'
import { closed, created, opening, plain } from '../../support/drafts.ts'
import { leaveBehind } from '../../support/leave-behind.ts'
import { temporaryFolder } from '../../support/temporary.ts'

async function store(folder = temporaryFolder(), options: RunelogOptions = {}) {
  const path = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts, options)
  onTestFinished(() => runelog.close())
  return { runelog, path, folder }
}

async function withSession(options?: RunelogOptions) {
  const opened = await store(undefined, options)
  const runes = [created('ses_1'), opening('interaction', 'int_1', { prompt: 'code XY-4711?' })]
  accepted(await opened.runelog.append({ session_id: 'ses_1', runes }))
  return opened
}

test('store: a redaction removes drafts and second copies of its session, and nothing else', async () => {
  // GIVEN leftovers of two sessions, one of them with the only copy of an event, and a draft of an output
  const { runelog, path } = await withSession()
  accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
  const left = await leaveBehind(`${path}.segments`, 'ses_1', await collect(runelog.records('ses_1')))
  const records = await collect(runelog.records('ses_2'))
  const others = await leaveBehind(`${path}.segments`, 'ses_2', records)
  const unknown = records.map((record) => ({ ...record, hash: 'f'.repeat(64), position: 1 }))
  const { segment: only } = await createSegments(`${path}.segments`).write('ses_1', unknown)
  expect(readdirSync(`${path}.segments`).sort()).toEqual([...left, ...others, only].sort())

  // WHEN something in one session is redacted, THEN what may hold it is gone, also of a session that is not archived
  await runelog.redact('ses_1', 2, 'r')
  expect(readdirSync(`${path}.segments`).sort()).toEqual([...others, only].sort())

  // AND an archived session keeps its file
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  await leaveBehind(`${path}.segments`, 'ses_1', await collect(runelog.records('ses_1')))
  await runelog.redact('ses_1', 4, 'r')
  expect(readdirSync(`${path}.segments`)).toHaveLength(others.length + 2)
  expect(await verify(runelog, 'ses_1')).toBeUndefined()
})

test('store: leftovers whose redaction is recorded are removed by the next process, and others stay', async () => {
  const whole = `blob_${'0'.repeat(64)}`
  const { runelog, path, folder } = await withSession({
    eraseBlobs: () => Promise.reject(new Error('killed')),
    leftBlobs: () => ['.00000000-0000-4000-8000-000000000000'],
  })
  const blobs = fileBlobs(`${path}.blobs`)
  mkdirSync(`${path}.blobs`)
  const [draft = '', later = ''] = [0, 1].map((i) => `.00000000-0000-4000-8000-00000000000${i}`)
  for (const name of [draft, later, whole]) writeFileSync(join(`${path}.blobs`, name), 'code XY-4711?')
  await expect(runelog.redact('ses_1', 2, 'r')).rejects.toThrow('killed')
  const records = await collect(runelog.records('ses_1'))
  await runelog.close()
  const left = await leaveBehind(`${path}.segments`, 'ses_1', records)
  expect(readdirSync(`${path}.blobs`)).toContain(draft)
  await store(folder, { eraseBlobs: blobs.erase, leftBlobs: blobs.leftovers })
  expect(readdirSync(`${path}.blobs`).sort()).toEqual([later, whole].sort())
  expect(readdirSync(`${path}.segments`).sort()).toEqual(left)
})

test('outputs: a draft of this process is no leftover, and one that cannot be finished is removed', async () => {
  const folder = join(temporaryFolder(), 'blobs')
  const blobs = fileBlobs(folder)
  const seen: string[] = []
  const keeping = blobs.keep('x'.repeat(8_000_000))
  for (let kept = false; !kept; await new Promise(setImmediate)) {
    seen.push(...namesIn(folder).filter((name) => name.startsWith('.')))
    expect(blobs.leftovers()).toEqual([])
    await blobs.erase(blobs.leftovers())
    kept = await Promise.race([keeping.then(() => true), new Promise<boolean>((r) => setImmediate(r, false))])
  }
  expect(seen.length).toBeGreaterThan(0)
  // A folder has the name: the draft cannot get it.
  const ref = await keeping
  rmSync(join(folder, ref))
  mkdirSync(join(folder, ref, 'x'), { recursive: true })
  await expect(blobs.keep('x'.repeat(8_000_000))).rejects.toThrow()
  expect(readdirSync(folder)).toEqual([ref])
})

test('backup: drafts, second copies and outputs that are about to be erased are not copied', async () => {
  const ref = `blob_${'1'.repeat(64)}`
  const { runelog, path, folder } = await withSession({ eraseBlobs: () => Promise.reject(new Error('killed')) })
  accepted(await runelog.append({ session_id: 'ses_1', runes: [plain('tool.result', { output_ref: ref })] }))
  accepted(await runelog.append({ session_id: 'ses_1', runes: closed('ses_1') }))
  await runelog.archive('ses_1')
  await expect(runelog.redact('ses_1', 3, 'r')).rejects.toThrow('killed')
  const [segment = ''] = readdirSync(`${path}.segments`)
  await leaveBehind(`${path}.segments`, 'ses_1', (await collect(runelog.records('ses_1'))).slice(0, 1))
  mkdirSync(`${path}.blobs`)
  const whole = `blob_${'2'.repeat(64)}`
  for (const name of ['.00000000-0000-4000-8000-000000000000', ref, whole])
    writeFileSync(join(`${path}.blobs`, name), 'x')
  const copy = copyStore(path, join(folder, 'backup'), undefined)
  expect(readdirSync(`${copy}.segments`)).toEqual([segment])
  expect(readdirSync(`${copy}.blobs`)).toEqual([whole])
  expect(readdirSync(join(folder, 'backup')).sort()).toEqual(['store.db', 'store.db.blobs', 'store.db.segments'])
})
