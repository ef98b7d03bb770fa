import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tokenFileOf } from '../../../src/app/store-key.ts'
import { importable } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { cert, key } from '../../support/localhost-certificate.ts'
import { runCli } from '../../support/run-cli.ts'
import { createChance, isProof, seed } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import type { Response } from '../../support/server.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('serve')

function configured(more = ''): { config: string; database: string; folder: string } {
  const folder = scratch.fresh()
  const config = join(folder, 'statewright.config.ts')
  const database = join(folder, 'store.db')
  writeFileSync(
    config,
    importable(`import { agent, defineConfig } from 'statewright'
     import { ask, say, scriptedModel } from 'statewright/testing'
     const support = agent({ role: 'support', model: scriptedModel([ask({ title: 'Which?', fields: [{ name: 'choice' }] }), say('hello')]) })
     export default defineConfig({ store: 'sqlite:${database}', agents: { support }, ${more} })`),
  )
  return { config, database, folder }
}

test('serve: the first start makes a token that only its owner reads, and shows it once, in the fragment of a link', async () => {
  const { config, database } = configured()
  const first = await runCli(['serve', '--config', config, '--port', '0', '--quiet'], { isScreen: true })
  expect(first).toMatchObject({ exit: 0, err: '' })
  const token = readFileSync(tokenFileOf(`sqlite:${database}`), 'utf8').trim()
  expect(token).toMatch(/^swt_[\w-]{32}$/)
  expect(statSync(tokenFileOf(`sqlite:${database}`)).mode & 0o777).toBe(0o600)
  expect(first.out.split('\n')).toEqual([
    expect.stringMatching(/^Serving support on http:\/\/127\.0\.0\.1:\d+$/),
    expect.stringMatching(new RegExp(`^Open http://127\\.0\\.0\\.1:\\d+/#token=${token}$`)),
    `The token is shown once; it is kept in ${tokenFileOf(`sqlite:${database}`)}`,
    'SIGTERM: releasing the runs under way.',
    'Stopped.',
  ])
  const second = await runCli(['serve', '--config', config, '--port', '0', '--quiet'], { isScreen: true })
  expect(second.out).not.toContain(token)
  expect(second.out).toContain(`The token is in ${tokenFileOf(`sqlite:${database}`)}`)
})

test('F-96 serve: the link with the token goes to a terminal only, never into a log', async () => {
  const { config, database } = configured()
  const server = await startServerProcess(config, database)
  const token = readFileSync(tokenFileOf(`sqlite:${database}`), 'utf8').trim()
  await eventually('it said where the token is', async () =>
    server.out().includes(`The token is in ${tokenFileOf(`sqlite:${database}`)}`),
  )
  expect(server.out() + server.err()).not.toContain(token)
  expect(server.out()).not.toContain('#token=')
})

test('F-96 client: the token goes to the address in the lock file only if that is this machine', async () => {
  // GIVEN a store that a server holds
  const { config, database } = configured()
  const server = await startServerProcess(config, database)
  const ps = () => runCli(['ps', '--store', `sqlite:${database}`])
  expect(await ps()).toMatchObject({ exit: 0 })
  const holder = JSON.parse(readFileSync(`${database}.lock`, 'utf8'))
  const heard: (string | undefined)[] = []
  const thief = createHttpServer((request, response) => {
    heard.push(request.headers.authorization)
    response.end('{}')
  })
  await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve))
  const { port } = thief.address() as AddressInfo
  // WHEN its lock file names another machine, or a process that is not there
  for (const forged of [
    { ...holder, address: `http://127.0.0.1.evil.example:${port}` },
    { ...holder, address: `http://localhost@127.0.0.1:${port}` },
    { ...holder, address: 'https://evil.example' },
    { ...holder, address: 'http://192.168.1.1' },
    { pid: 2 ** 22 + 1, address: `http://127.0.0.1:${port}` },
  ]) {
    writeFileSync(`${database}.lock`, JSON.stringify(forged))
    // THEN the command says that the store is held, and sends nothing
    expect(await ps(), forged.address).toMatchObject({
      exit: 7,
      err: expect.stringMatching(/is held by (another )?process/),
    })
  }
  // AND the token in the file is sent to no other server that is named
  expect(await runCli(['ps', '--store', `sqlite:${database}`, '--server', 'https://evil.example'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('STATEWRIGHT_TOKEN'),
  })
  expect(heard).toEqual([])
  thief.close()
  await server.kill()
})

test('serve: a first start that fails shows no token and keeps none: the next one shows its own', async () => {
  const { config, database, folder } = configured()
  const serve = (...more: string[]) => runCli(['serve', '--config', config, '--quiet', ...more], { isScreen: true })
  const { promise: taken, resolve } = Promise.withResolvers<number>()
  const other = createServer().listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port))
  expect(await serve('--port', `${await taken}`)).toMatchObject({ exit: 7, err: expect.stringContaining('EADDRINUSE') })
  other.close()
  expect(existsSync(tokenFileOf(`sqlite:${database}`))).toBe(false)
  const missing = join(folder, 'no.pem')
  expect(await serve('--port', '0', '--tls-cert', missing, '--tls-key', missing)).toMatchObject({
    exit: 1,
    err: `${missing} cannot be used: there is no such file or folder.`,
  })
  expect((await serve('--port', '0')).out).toContain('#token=swt_')
  writeFileSync(tokenFileOf(`sqlite:${database}`), '')
  expect(await serve('--port', '0')).toMatchObject({ exit: 1, err: expect.stringContaining('it is empty; delete it') })
})

test('serve: where others could reach it, it does not listen without TLS unless someone says so', async () => {
  const { config, folder } = configured()
  const bind = (...more: string[]) => runCli(['serve', '--config', config, '--port', '0', '--quiet', ...more])
  for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.com'])
    expect(await bind('--host', host)).toMatchObject({
      exit: 2,
      err: expect.stringContaining(`${host} can be reached`),
    })
  expect(await bind('--host', '0.0.0.0', '--allow-plain-http')).toMatchObject({ exit: 0 })
  expect(await bind('--tls-cert', 'a.pem')).toMatchObject({ exit: 2 })
  expect(await bind('--port', 'many')).toMatchObject({ exit: 2 })
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const tls = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')]
  expect((await bind('--host', '0.0.0.0', ...tls)).out).toContain('on https://0.0.0.0:')
})

test('serve: over TLS it answers as it does without, to the names it was given', async () => {
  const { config, database, folder } = configured()
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const tls = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')]
  const server = await startServerProcess(config, database, ['--port', '0', '--allow-host', 'ops.example', ...tls])
  const asked = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, authorization: `Bearer ${server.token}` }
      const going = request(`${server.url}/api/sessions`, { ca: cert, servername: 'localhost', headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      going.on('error', reject)
      going.end()
    })
  expect(await asked('localhost')).toBe(200)
  expect(await asked('ops.example:8443')).toBe(200)
  expect(await asked('evil.example')).toBe(403)
  expect(await server.kill('SIGTERM')).toBe(0)
})

test('serve: tokens in the config have names and scopes; the log has neither tokens nor secrets', async () => {
  const { config, database } = configured(
    `server: { tokens: [{ name: 'watcher', token: 'watcher-0123456789', scope: 'read' }] }, secrets: { bank: 'bank-pin-1234' },`,
  )
  const server = await startServerProcess(config, database)
  const body = { agent: 'support', input: 'My pin is bank-pin-1234 and the token watcher-0123456789.' }
  expect((await server.ask('/api/runs', { token: 'watcher-0123456789', body })).status).toBe(403)
  expect((await server.ask('/api/sessions', { token: 'watcher-0123456789' })).status).toBe(200)
  const { session_id } = (await server.ask('/api/runs', { body })).json
  const runes = await server.ask(`/api/sessions/${session_id}/runes`)
  expect(runes.text).toContain('My pin is [secret:bank] and the token [secret:token of watcher].')
  expect((await server.ask('/api/runs/bank-pin-1234')).status).toBe(404)
  await server.kill('SIGTERM')
  const files = [database, `${database}-wal`].map((file) => {
    try {
      return readFileSync(file, 'latin1')
    } catch {
      return ''
    }
  })
  for (const text of [server.err(), ...files])
    for (const secret of ['bank-pin-1234', 'watcher-0123456789', server.token]) expect(text).not.toContain(secret)
  expect(server.err()).toContain('"by":"watcher"')
})

test('store: a process that finds the store taken asks the server, or names the holder', async () => {
  const { config, database, folder } = configured()
  const server = await startServerProcess(config, database)
  // No other process reads any of it.
  for (const file of readdirSync(folder).filter((name) => name.startsWith('store.db')))
    expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0)
  const held = JSON.parse(readFileSync(`${database}.lock`, 'utf8'))
  expect(held.address).toBe(server.url)
  const store = ['--store', `sqlite:${database}`]
  expect(await runCli(['verify', ...store])).toMatchObject({ exit: 0, out: '0 sessions verified.' })
  expect(await runCli(['rebuild', ...store])).toMatchObject({
    exit: 7,
    err: expect.stringContaining('is held by process'),
  })
})

test(
  'serve: a request that is repeated until it is answered is carried out once, although the server is killed meanwhile',
  async () => {
    const { config, database } = configured()
    const chance = createChance()
    const kills = isProof ? 40 : 4
    console.log(`serve: seed ${seed}; repeat with STATEWRIGHT_SEED=${seed}`)
    let server = await startServerProcess(config, database)
    const told = new Map<string, string>()
    let repeated = 0
    let unanswered = 0

    for (let round = 0; round < kills; round++) {
      const keys = Array.from({ length: 6 }, (_, n) => `key-${round}-${n}`)
      const send = (name: string): Promise<Response | undefined> =>
        server.ask('/api/runs', { body: { agent: 'support', input: name }, headers: { 'idempotency-key': name } }).then(
          (answer) => {
            expect(answer.status).toBe(200)
            // A repeated request gets the same answer.
            expect(told.get(name) ?? answer.json.run_id).toBe(answer.json.run_id)
            told.set(name, answer.json.run_id)
            return answer
          },
          () => undefined,
        )
      // WHEN the server is killed at some moment while they are under way
      const under_way = Promise.all(keys.map(send))
      // First before any answer, then after one at least, then at some moment.
      const last = round === 0 ? 0 : Math.max(round === 1 ? 1 : 0, Math.floor(chance() * keys.length))
      await eventually('some answers', async () =>
        keys.filter((name) => told.has(name)).length >= last ? true : undefined,
      )
      await server.kill()
      unanswered += (await under_way).filter((answer) => answer === undefined).length
      server = await startServerProcess(config, database)
      // AND all are sent again
      for (const name of keys) {
        const again = await send(name)
        expect(again).toBeDefined()
        if (again?.headers.get('idempotency-replayed') === 'true') repeated += 1
      }
    }

    // THEN each was carried out once
    const inputs: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Response = await server.ask(`/api/runs?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`)
      for (const { run_id } of page.json.items) inputs.push((await server.ask(`/api/runs/${run_id}`)).json.input)
      cursor = page.json.next_cursor
    }
    expect(inputs.sort()).toEqual([...told.keys()].sort())
    expect(new Set(told.values()).size).toBe(told.size)
    // AND the kills came before some answers and after others
    expect(repeated).toBeGreaterThan(0)
    expect(unanswered).toBeGreaterThan(0)
    expect((await server.ask('/readyz')).status).toBe(200)
  },
  isProof ? 600_000 : 120_000,
)
