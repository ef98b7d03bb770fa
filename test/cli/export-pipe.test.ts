import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { created } from '../support/drafts.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('F-106 export: a pipe is written to, and no file takes its place', async () => {
  const folder = temporaryFolder()
  const store = join(folder, 'store.db')
  const runelog = await openSqliteRunelog(store, hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  await runelog.close()
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const reading = readFile(pipe, 'utf8')
  expect(await runCli(['export', 'ses_1', '-o', pipe, '--store', `sqlite:${store}`])).toMatchObject({ exit: 0 })
  expect(statSync(pipe).isFIFO()).toBe(true)
  expect((await reading).trim().split('\n').at(-1)).toContain('"checkpoint"')
})
