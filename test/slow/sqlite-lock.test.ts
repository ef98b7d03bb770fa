import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { created } from '../support/drafts.ts'

test('a second process is refused with the pid of the first; when that one is killed, the store can be taken', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const script = `
    import { hostPorts } from ${JSON.stringify(new URL('../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openSqliteRunelog } from ${JSON.stringify(new URL('../../src/adapters/sqlite/runelog.ts', import.meta.url).href)}
    async function hold() {
      const runelog = await openSqliteRunelog(process.argv[1], hostPorts)
      await runelog.append(${JSON.stringify({ session_id: 'ses_1', runes: [created('ses_1')] })})
    }
    await hold()
    // Nothing refers to the runelog any more, and the lock holds all the same.
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(() => resolve(gc())))
    console.log('holding')
    setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')

  await expect(openSqliteRunelog(path, hostPorts)).rejects.toMatchObject({
    code: 'store_locked',
    details: { pid: holder.pid },
  })

  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const runelog = await openSqliteRunelog(path, hostPorts)
  expect(await runelog.head('ses_1')).toMatchObject({ event_id: 1 })
  await runelog.close()
})

test('F-96 lock: a database file that is mounted by itself is refused; in a folder that is mounted it is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['a', 'a file', 'a folder']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'a file', 'store.db'), '')
  const first = await openSqliteRunelog(join(folder, 'a', 'store.db'), hostPorts)
  onTestFinished(() => first.close())

  const script = `
    import { hostPorts } from ${JSON.stringify(new URL('../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openSqliteRunelog } from ${JSON.stringify(new URL('../../src/adapters/sqlite/runelog.ts', import.meta.url).href)}
    for (const name of ['a file', 'a folder'])
      await openSqliteRunelog(name + '/store.db', hostPorts).then(
        () => console.log(name, 'is open'),
        (error) => console.log(name, error.code, error.message),
      )
    process.exit()`
  const mount = `mount --bind a/store.db 'a file/store.db' && mount --bind a 'a folder' && exec "$@"`
  const second = ['-rm', 'sh', '-c', mount, 'sh', process.execPath, '--input-type=module', '-e', script]
  const said = execFileSync('unshare', second, { cwd: folder, encoding: 'utf8' }).split('\n')
  expect(said[0]).toMatch(
    /^a file store_unusable .* the file is mounted by itself, .* Mount the folder that it is in\.$/,
  )
  // The lock of the folder is one and the same.
  expect(said[1]).toMatch(/^a folder store_locked /)
})
