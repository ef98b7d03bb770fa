import { expect, test } from 'vitest'
import { backendOf } from '../../src/app/backend.ts'
import type { RunelogReader } from '../../src/runelog/port.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { createBackendWorld } from '../support/backend.ts'
import { registryIn } from '../support/goal-registry.ts'
import { keyedAgents } from '../support/keyed-agents.ts'
import { keyedPlans, keyedRequests } from '../support/keyed-requests.ts'
import { exampleRegistry } from '../support/plans.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startServer } from '../support/server.ts'
import { everything } from '../support/valid-requests.ts'

const scratch = scratchFolder('keys')
const storeKey = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }

/** A settlement needs an action with an unknown outcome, and answers as every other reply does; a signature records nothing. */
const asOthers = ['settle', 'sign_session']

test('F-108 keys: there is a play for every command', () => {
  const names = operations.flatMap(({ method, name }) => (method === 'POST' ? [name] : []))
  expect([...Object.keys({ ...keyedRequests, ...keyedPlans }), ...asOthers].sort()).toEqual(names.sort())
})

const requestsIn = async (runelog: RunelogReader) => {
  const ids: string[] = []
  for (const session_id of await runelog.sessionIds())
    for (const { request_id } of await runelog.read(session_id)) if (request_id !== undefined) ids.push(request_id)
  return ids
}

test.each([
  ['runs, sessions and goals', keyedRequests, () => registryIn(scratch.fresh())],
  ['plans', keyedPlans, () => exampleRegistry],
])(
  'F-108 keys: each command about %s takes effect once over a restart, and answers as before',
  async (_, all, registry) => {
    const { world, backend } = await createBackendWorld(keyedAgents, {
      store: 'sqlite',
      plans: { registry: registry() },
    })
    let server = await startServer(backend)
    const ask: typeof server.ask = (...asked) => server.ask(...asked)
    const sent: [
      name: string,
      keyed: Awaited<ReturnType<(typeof all)[string]>>,
      first: Awaited<ReturnType<typeof ask>>,
    ][] = []
    for (const [name, prepare] of Object.entries(all)) {
      const keyed = await prepare(ask)
      const first = await ask(keyed.path, { body: keyed.body ?? {}, headers: { 'idempotency-key': name } })
      expect(first, name).toMatchObject({ status: 200 })
      expect(first.headers.get('idempotency-replayed')).toBeNull()
      sent.push([name, keyed, first])
    }
    await world.sw.idle()
    await server.close()
    await world.restart()
    await world.sw.idle()
    server = await startServer(backendOf(world.sw, storeKey))
    const before = await everything(world.sw.runelog)

    for (const [name, { path, body = {}, other, answer }] of sent) {
      const headers = { 'idempotency-key': name }
      const again = await ask(path, { body, headers })
      expect(again, name).toMatchObject({ status: 200, json: answer })
      expect(again.headers.get('idempotency-replayed'), name).toBe('true')
      if (other !== undefined)
        expect(await ask(path, { body: other, headers }), name).toMatchObject({
          status: 422,
          json: { code: 'key_reused' },
        })
    }
    expect(await everything(world.sw.runelog)).toBe(before)
    const requests = await requestsIn(world.sw.runelog)
    expect(requests.length).toBe(sent.length)
    expect(new Set(requests).size).toBe(sent.length)
    await server.close()
    await world.end()
  },
)
