import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { closed, created } from '../support/drafts.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

let path: string
const cli = (...args: readonly string[]) => runCli([...args, '--store', `sqlite:${path}`])

beforeEach(async () => {
  path = join(temporaryFolder(), 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1'), ...closed('ses_1')] }))
  await runelog.close()
})

test('verify: an archived log that is missing is named with its folder, without the advice to verify', async () => {
  await cli('archive', 'ses_1')
  rmSync(`${path}.segments`, { recursive: true })
  const { exit, err } = await cli('verify', 'ses_1')
  expect(exit).toBe(5)
  expect(err).toMatch(/^ses_1 event 1: it cannot be read\. archived log .* is missing from .*: STATEWRIGHT_SEGMENTS\.$/)
  expect(err).not.toContain('statewright verify')
})

test.each(['answer', 'settle', 'show', 'cancel'])(
  '%s: a word that cannot be an id is named, with how an id begins',
  async (command) => {
    const { exit, err } = await cli(command, 'nope=1')
    expect(exit).toBe(2)
    expect(err).toContain('"nope=1" cannot be the id of a')
    expect(err).toMatch(/begins with .*(int_|run_)/)
  },
)
