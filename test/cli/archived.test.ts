import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { madeAndClosed } from '../support/drafts.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

let folder: string
let store: readonly string[]

beforeEach(async () => {
  folder = temporaryFolder()
  const path = join(folder, 'store.db')
  store = ['--store', `sqlite:${path}`]
  const runelog = await openSqliteRunelog(path, hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: madeAndClosed('ses_1') }))
  await runelog.archive('ses_1')
  await runelog.close()
})

test('archive: verify reads the compressed log, and its export is plain and needs no decompression', async () => {
  expect(await runCli(['verify', ...store])).toMatchObject({ exit: 0, err: '' })
  const bundle = join(folder, 'ses_1.ndjson')
  expect(await runCli(['export', 'ses_1', '-o', bundle, ...store])).toMatchObject({ exit: 0 })
  expect(readFileSync(bundle, 'utf8')).toMatch(/^\{.*\n\{.*session\.created/)
  expect(await runCli(['verify', '--bundle', bundle])).toMatchObject({ exit: 0 })
})

test('archive: verify and export name a compressed log that was damaged', async () => {
  const [segment = ''] = readdirSync(join(folder, 'store.db.segments'))
  const path = join(folder, 'store.db.segments', segment)
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(bytes.readUInt8(100) ^ 1, 100, 101))
  const verified = await runCli(['verify', ...store])
  expect(verified.exit).toBe(5)
  expect(verified.err).toContain(`archived log ${segment}: it was changed: its content does not fit its name.`)
  const exported = await runCli(['export', 'ses_1', '-o', join(folder, 'ses_1.ndjson'), ...store])
  expect(exported.exit).toBeGreaterThan(0)
  expect(exported.err).toContain(`The store is damaged. archived log ${segment}: it was changed`)
})
