import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { importable } from '../../support/cli-project.ts'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('database-gone')
const token = 'token-of-a-test-0123456789'
const password = 'hunter2-of-the-database'
const database = await freshDatabase()

const source = (store: string) => `
import { agent, defineConfig } from 'statewright'
import { say, scriptedModel } from 'statewright/testing'

export default defineConfig({
  store: '${store}', agents: { one: agent({ role: 'one', model: scriptedModel([say('done')]) }) },
  server: { tokens: [{ name: 'test', token: '${token}', scope: 'admin' }] },
})
`

test('F-103 serve: with PostgreSQL gone, readyz says so within 2 s, and no answer without a token tells the address', async () => {
  // GIVEN a server whose database is there
  const proxy = await startCuttingProxy(database)
  onTestFinished(proxy.close)
  const store = new URL(proxy.url)
  store.password = password
  const config = join(scratch.fresh(), 'statewright.config.ts')
  writeFileSync(config, importable(source(store.href)))
  const { ask, err, kill } = await startServerProcess(config, '', ['--port', '0'], token)
  const open = async (path: string) => {
    const begun = performance.now()
    const { status, text } = await ask(path, { token: null })
    return { status, text, ms: performance.now() - begun }
  }
  expect(await open('/readyz')).toMatchObject({ status: 200, text: '{"status":"ready"}' })

  // WHEN the database goes away
  proxy.shut()
  const authorised = ask('/api/sessions')

  // THEN readyz says so soon, however often it is asked
  const answers = await Promise.all(Array.from({ length: 6 }, () => open('/readyz')))
  for (const { status, text, ms } of [...answers, await open('/readyz')]) {
    expect(status).toBe(503)
    expect(text).toBe('{"status":"unreachable","detail":"The store cannot be reached."}')
    expect(ms).toBeLessThan(2_000)
  }
  // AND the process is alive, and answers without a token tell nothing of the address
  expect(await open('/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}' })
  const address = [store.port, store.pathname.slice(1), store.username, password]
  const paths = ['/', '/healthz', '/readyz', '/api/sessions', '/api/none', '/none', '/api/openapi.json', '/api/%zz']
  const told = await Promise.all(paths.map(async (path) => (await open(path)).text))
  for (const part of address) expect(told.join('\n')).not.toContain(part)
  // AND with a token the address has no password, nor has the log, which names the address
  const { status, text } = await authorised
  expect(status).toBe(503)
  expect(text).toContain(store.host)
  await eventually('the log has the details', async () => (err().includes(store.host) ? true : undefined))
  expect(`${text}${err()}`).not.toContain(password)

  // WHEN it comes back, THEN the same process is ready
  proxy.reopen()
  await eventually('it is ready', async () => ((await open('/readyz')).status === 200 ? true : undefined))
  expect(await kill('SIGTERM')).toBe(0)
})
