import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../../src/adapters/sqlite/runelog.ts'
import { withOwnMounts } from '../../../support/own-mounts.ts'

test('F-96 lock: a database file that is mounted by itself is refused; in a folder that is mounted it is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['a', 'a file', 'a folder']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'a file', 'store.db'), '')
  const first = await openSqliteRunelog(join(folder, 'a', 'store.db'), hostPorts)
  onTestFinished(() => first.close())

  const script = `
    import { hostPorts } from ${JSON.stringify(new URL('../../../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openSqliteRunelog } from ${JSON.stringify(new URL('../../../../src/adapters/sqlite/runelog.ts', import.meta.url).href)}
    for (const name of ['a file', 'a folder'])
      await openSqliteRunelog(name + '/store.db', hostPorts).then(
        () => console.log(name, 'is open'),
        (error) => console.log(name, error.code, error.message),
      )
    process.exit()`
  const mount = `mount --bind a/store.db 'a file/store.db' && mount --bind a 'a folder' && exec "$@"`
  const second = [...withOwnMounts.slice(1), mount, 'sh', process.execPath, '--input-type=module', '-e', script]
  const said = execFileSync(withOwnMounts[0], second, { cwd: folder, encoding: 'utf8' }).split('\n')
  expect(said[0]).toMatch(
    /^a file store_unusable .* the file is mounted by itself, .* Mount the folder that it is in\.$/,
  )
  // The lock of the folder is one and the same.
  expect(said[1]).toMatch(/^a folder store_locked /)
})
