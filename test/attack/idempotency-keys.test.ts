import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { importable } from '../support/cli-project.ts'
import { registryIn } from '../support/goal-registry.ts'
import { keyedPlans, keyedRequests } from '../support/keyed-requests.ts'
import { exampleRegistry } from '../support/plans.ts'
import { freshDatabase } from '../support/postgres.ts'
import { isProof } from '../support/sampling.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTally } from '../support/tally.ts'

const scratch = scratchFolder('idempotency-keys')
const tally = createTally()
const agents = pathToFileURL(join(import.meta.dirname, '../support/keyed-agents.ts')).href

/** A request with this header ends the process when its work is done and before a byte of the answer is sent. */
const source = `
import { ServerResponse } from 'node:http'
import { defineConfig } from 'statewright'
import { keyedAgents } from '${agents}'

const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (...head) {
  if (this.req.headers['x-die'] !== undefined) process.kill(process.pid, 'SIGKILL')
  return writeHead.apply(this, head)
}
`

const tokens = { mine: 'a-token-of-mine-123', other: 'a-token-of-another' }

/** Servers on one store, each started when it is asked for. */
function site(registry: string, store?: string) {
  const folder = scratch.fresh()
  const database = join(folder, 'store.db')
  const config = join(folder, 'statewright.config.ts')
  const exported = JSON.stringify({
    store: store ?? `sqlite:${database}`,
    plans: { registry },
    server: { tokens: Object.entries(tokens).map(([name, token]) => ({ name, token, scope: 'admin' })) },
  })
  writeFileSync(config, importable(`${source}\nexport default defineConfig({ agents: keyedAgents, ...${exported} })\n`))
  return () => startServerProcess(config, database, ['--port', '0', '--quiet'], tokens.mine)
}

type Server = Awaited<ReturnType<ReturnType<typeof site>>>

/** Every rune of every session that a request brought about. */
async function requestsOf({ ask }: Server): Promise<readonly string[]> {
  const ids: string[] = []
  const { items } = (await ask('/api/sessions?limit=200')).json as { items: { session_id: string }[] }
  for (const { session_id } of items) {
    const { status, json } = await ask(`/api/sessions/${session_id}/runes?limit=1000`)
    expect(status, JSON.stringify({ session_id, json })).toBe(200)
    for (const { request_id } of json.items as { request_id?: string }[])
      if (request_id !== undefined) ids.push(request_id)
  }
  return ids
}

const sampled = ['steer_run', 'allow_again', 'close_session']
const chosen = Object.entries(keyedRequests).filter(([name]) => isProof || sampled.includes(name))

test('F-108 keys: a server that is killed between commit and answer has done each command once', async () => {
  await killAtEach(site(registryIn(scratch.fresh())), chosen)
  const plans = join(import.meta.dirname, '../..', exampleRegistry)
  if (isProof) await killAtEach(site(plans), Object.entries(keyedPlans))
})

async function killAtEach(start: () => Promise<Server>, all: readonly (typeof chosen)[number][]) {
  let server = await start()
  const ask: Server['ask'] = (...asked) => server.ask(...asked)
  for (const [i, [name, prepare]] of all.entries()) {
    const { path, body = {}, other, answer } = await prepare(ask)
    const headers = { 'idempotency-key': `key-${name}` }
    await expect(ask(path, { body, headers: { ...headers, 'x-die': '1' } }), name).rejects.toThrow()
    server = await start()
    const again = await ask(path, { body, headers })
    const requests = await requestsOf(server)
    const isOnce = requests.length === i + 1 && new Set(requests).size === i + 1
    const isSame = again.status === 200 && again.headers.get('idempotency-replayed') === 'true'
    tally.count('commands killed before their answer', 1, isOnce && isSame ? 0 : 1)
    expect(again, name).toMatchObject({ status: 200, json: answer })
    expect(isSame, name).toBe(true)
    expect(isOnce, `${name}: ${requests.join(' ')}`).toBe(true)
    if (other !== undefined)
      expect(await ask(path, { body: other, headers }), name).toMatchObject({
        status: 422,
        json: { code: 'key_reused' },
      })
  }
}

test('F-108 keys: two servers on one PostgreSQL share keys, and a key belongs to its token', async () => {
  const store = await freshDatabase()
  // Both read what either of them archives.
  vi.stubEnv('STATEWRIGHT_SEGMENTS', scratch.fresh())
  onTestFinished(() => void vi.unstubAllEnvs())
  const registry = registryIn(scratch.fresh())
  const [left, right] = await Promise.all([site(registry, store)(), site(registry, store)()])
  for (const name of isProof ? Object.keys(keyedRequests) : ['steer_run', 'allow_again']) {
    const before = await requestsOf(left)
    const { path, body = {} } = (await keyedRequests[name]?.(left.ask)) ?? { path: '' }
    const headers = { 'idempotency-key': `key-${name}` }
    // At once, through both: one of them takes effect, and the other answers from its record.
    const answers = await Promise.all([left, right, left, right].map(({ ask }) => ask(path, { body, headers })))
    const late = await right.ask(path, { body, headers })
    const statuses = [...answers, late].map(({ status }) => status)
    const requests = await requestsOf(right)
    tally.count('commands sent to two servers', 5, requests.length === before.length + 1 ? 0 : 1)
    // A repetition may find the first one under way.
    expect(
      statuses.filter((status) => status !== 200 && status !== 409),
      name,
    ).toEqual([])
    expect(late.status, name).toBe(200)
    expect(requests.length, name).toBe(before.length + 1)
  }
  const { path, body = {} } = (await keyedRequests.steer_run?.(left.ask)) ?? { path: '' }
  const headers = { 'idempotency-key': 'shared' }
  expect((await left.ask(path, { body, headers })).headers.get('idempotency-replayed')).toBeNull()
  const foreign = await right.ask(path, { body, headers, token: tokens.other })
  expect(foreign.status).toBe(200)
  expect(foreign.headers.get('idempotency-replayed')).toBeNull()
})
