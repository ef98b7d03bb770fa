import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../../src/adapters/sqlite/runelog.ts'
import { created } from '../../../support/drafts.ts'

test('lock: a second process is refused with the pid of the first; when that one is killed, the store can be taken', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const script = `
    import { hostPorts } from ${JSON.stringify(new URL('../../../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openSqliteRunelog } from ${JSON.stringify(new URL('../../../../src/adapters/sqlite/runelog.ts', import.meta.url).href)}
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

test('lock: a holder whose lock was dropped by a copy of its files is refused by its name, until it ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const script = `
    import { cpSync } from 'node:fs'
    import { hostPorts } from ${JSON.stringify(new URL('../../../../src/adapters/host/ports.ts', import.meta.url).href)}
    import { openSqliteRunelog } from ${JSON.stringify(new URL('../../../../src/adapters/sqlite/runelog.ts', import.meta.url).href)}
    const runelog = await openSqliteRunelog(process.argv[1], hostPorts)
    // POSIX: closing any descriptor of a file drops the locks that the process has on it.
    cpSync(process.argv[1] + '.guard', process.argv[1] + '.copy')
    console.log('holding')
    process.stdin.once('data', async () => {
      await runelog.close()
      console.log('closed')
    })`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const file = readFileSync(`${path}.lock`, 'utf8')

  await expect(openSqliteRunelog(path, hostPorts)).rejects.toMatchObject({
    code: 'store_locked',
    details: { pid: holder.pid },
  })
  expect(readFileSync(`${path}.lock`, 'utf8')).toBe(file)

  // Once it has closed the store, its name is gone, though the process lives.
  holder.stdin.write('close\n')
  await once(holder.stdout, 'data')
  await (await openSqliteRunelog(path, hostPorts)).close()
})
