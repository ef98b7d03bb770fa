import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
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
