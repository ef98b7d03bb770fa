import { Validator } from '@seriousme/openapi-schema-validator'
import { afterEach, expect, test } from 'vitest'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { faults } from '../../src/faults/catalogue.ts'
import { genesis, runesOf } from '../../src/runes/record.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { startServer } from '../support/server.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function served(script = [refund, say('Done.')]) {
  const { world, backend } = await createBackendWorld({ support: supportAgent(script) })
  const server = await startServer(backend)
  open.push(world.end, server.close)
  return { world, backend, ...server }
}

test('server: a run is submitted, asked about, answered and read over HTTP', async () => {
  const { ask, world } = await served()
  const submitted = await ask('/api/runs', { body: { agent: 'support', input: 'Refund.' } })
  expect(submitted).toMatchObject({ status: 200, json: { is_repeated: false } })
  const { run_id, session_id } = submitted.json
  await world.sw.idle()
  expect(await ask(`/api/runs/${run_id}/result`)).toMatchObject({ status: 409, json: { code: 'run_not_over' } })
  const { json } = await ask('/api/inbox')
  const [{ interaction_id }] = json.items
  const { digest, execution_id } = (await ask(`/api/interactions/${interaction_id}`)).json
  expect((await ask(`/api/interactions/${interaction_id}/approve`, { body: { digest } })).status).toBe(200)
  await world.sw.idle()
  expect((await ask(`/api/runs/${run_id}/result`)).json).toMatchObject({ status: 'succeeded', result: 'Done.' })
  expect((await ask(`/api/execution/${execution_id}/snapshot`)).json).toMatchObject({ current_status: 'completed' })
  expect((await ask(`/api/execution/${session_id}/timeline`)).json).toMatchObject({ total_contracts: 1 })
  const bundle = await ask(`/api/sessions/${session_id}/bundle`)
  expect(bundle.headers.get('content-type')).toBe('application/x-ndjson')
  const records = bundle.text.trim().split('\n').slice(1, -1)
  const exported = runesOf(
    records.map((line) => JSON.parse(line)),
    genesis,
  )
  expect(exported).toEqual(await world.runes(session_id))
})

test('server: the OpenAPI document is valid and names every operation', async () => {
  const { ask } = await served()
  const { json } = await ask('/api/openapi.json')
  const result = await new Validator().validate(structuredClone(json))
  expect(result.errors).toBeUndefined()
  expect(result.valid).toBe(true)
  const described = Object.values<Record<string, { operationId: string }>>(json.paths)
    .flatMap((path) => Object.values(path))
    .map(({ operationId }) => operationId)
  expect(described).toEqual(expect.arrayContaining(operations.map(({ name }) => name)))
  expect(new Set(described).size).toBe(described.length)
})

test('server: a refusal is a problem', async () => {
  const { ask } = await served()
  const missing = await ask('/api/sessions/ses_none')
  expect(missing.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(missing.json).toEqual({
    type: 'urn:statewright:problem:not-found',
    title: 'Not found',
    status: 404,
    detail: 'There is no session ses_none.',
    code: 'not_found',
    retry: 'never',
    outcome: 'not_applied',
    details: { what: 'session', id: 'ses_none' },
    request_id: missing.headers.get('x-request-id'),
  })
  expect(await ask('/api/sessions?limit=0')).toMatchObject({ status: 422, json: { code: 'bad_request' } })
  expect(await ask('/api/nothing')).toMatchObject({ status: 404, json: { code: 'no_route' } })
})

test.each(['1e0', '0x2', '%202', '2.0', '+2'])(
  'redact: the event %j in an address is refused, and nothing is erased',
  async (event) => {
    const { ask, world } = await served([say('Done.')])
    const { session_id } = (await ask('/api/runs', { body: { agent: 'support', input: 'Hello.' } })).json
    await world.sw.idle()
    const refused = await ask(`/api/sessions/${session_id}/runes/${event}/redact`, { body: { reason: 'A slip.' } })
    expect([404, 422]).toContain(refused.status)
    expect((await ask(`/api/sessions/${session_id}/runes?limit=1e1`)).status).toBe(422)
    expect((await world.runes(session_id)).map(({ kind }) => kind)).not.toContain('rune.redacted')
  },
)

test('F-103 readyz: a store that does not answer is unreachable after 1 s; clients that poll share one look', async () => {
  // GIVEN a store that does not answer yet
  const { world, backend } = await createBackendWorld({ support: supportAgent([say('Done.')]) })
  const looks: PromiseWithResolvers<undefined>[] = []
  const head = () => {
    const look = Promise.withResolvers<undefined>()
    looks.push(look)
    return look.promise
  }
  const hand = createTestClock()
  const slow = { ...backend, runelog: { ...backend.runelog, head } }
  const { ask, close } = await startServer(slow, { timers: hand.timers })
  open.push(world.end, close)
  const unreachable = { status: 503, text: '{"status":"unreachable","detail":"The store cannot be reached."}' }

  // WHEN two clients ask, and the deadline is over
  const polls = [ask('/readyz', { token: null }), ask('/readyz', { token: null })]
  await expect.poll(() => hand.pending()).toBe(2)
  await hand.advance(1_000)
  // THEN both are told so, and the store was asked once
  expect(await Promise.all(polls)).toMatchObject([unreachable, unreachable])
  expect(looks).toHaveLength(1)

  // AND an error of the store is told in the same words, without its address
  looks[0]?.reject(faults.store_unreachable({ store: 'postgres://me@db.example/prod', cause: 'connect ECONNREFUSED' }))
  const refused = ask('/readyz', { token: null })
  await expect.poll(() => looks.length).toBe(2)
  looks[1]?.reject(faults.store_unusable({ store: 'postgres://me@db.example/prod', problem: 'no such database.' }))
  expect(await refused).toMatchObject(unreachable)

  // AND it is ready as soon as the store answers
  const ready = ask('/readyz', { token: null })
  await expect.poll(() => looks.length).toBe(3)
  looks[2]?.resolve(undefined)
  expect(await ready).toMatchObject({ status: 200, text: '{"status":"ready"}' })
})
