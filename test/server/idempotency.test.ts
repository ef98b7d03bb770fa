import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { backendOf } from '../../src/app/backend.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { tokenOf } from '../../src/server/guard.ts'
import { createKeptAnswers, readKey } from '../../src/server/idempotency.ts'
import { usualLimits } from '../../src/server/limits.ts'
import { defineOperation } from '../../src/surface/operation.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { endpoint } from '../../src/wire/endpoint.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { startServer } from '../support/server.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function served(options: Parameters<typeof startServer>[1] = {}) {
  const { world, backend } = await createBackendWorld(
    { support: supportAgent([refund, say('Done.')]) },
    { store: 'sqlite' },
  )
  const server = await startServer(backend, options)
  open.push(() => world.end(), server.close)
  return { world, backend, ...server }
}

const key = (value: string) => ({ 'idempotency-key': value })

test('idempotency: the same submission with the same key is one run, however often and however soon it is sent', async () => {
  const { ask, world } = await served()
  const body = { agent: 'support', input: 'Refund.' }
  const send = () => ask('/api/runs', { body, headers: key('"one"') })
  const answers = await Promise.all([send(), send(), send(), send(), send()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const runs = new Set(answers.map(({ json }) => json.run_id))
  expect(runs.size).toBe(1)
  expect(answers.filter(({ json }) => !json.is_repeated)).toHaveLength(1)
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(4)
  await world.sw.idle()
  expect(await world.sw.sessions.list()).toHaveLength(1)

  // With another content, or in another session, the key is refused, and nothing is recorded.
  const { session_id } = answers[0]?.json ?? {}
  const before = (await world.runes(session_id)).length
  for (const other of [
    { ...body, input: 'Refund twice.' },
    { ...body, mode: 'auto' },
    { ...body, session_id: 'ses_x' },
  ])
    expect(await ask('/api/runs', { body: other, headers: key('one') })).toMatchObject({
      status: 422,
      json: { code: 'key_reused' },
    })
  expect(await world.sw.sessions.list()).toHaveLength(1)
  expect(await world.runes(session_id)).toHaveLength(before)
})

test('idempotency: the log keeps the key, so another process on the same store knows it', async () => {
  const { ask, world, close } = await served()
  const sent = [
    ['/api/runs', { agent: 'support', input: 'Refund.' }],
    ['/api/sessions', { agent: 'support', title: 'Mine', budget: { tokens: 5 } }],
  ] as const
  const first = await Promise.all(sent.map(([path, body]) => ask(path, { body, headers: key('k') })))
  const { session_id } = first[1]?.json ?? {}
  const messages = `/api/sessions/${session_id}/messages`
  const message = await ask(messages, { body: { input: 'Hello.' }, headers: key('m') })
  await world.sw.idle()
  const [question] = await world.sw.inbox.list()
  const deny = `/api/interactions/${question?.interaction_id}/deny`
  expect((await ask(deny, { body: { reason: 'No.' }, headers: key('d') })).status).toBe(200)
  await world.sw.idle()
  const logs = () =>
    Promise.all([session_id, first[0]?.json.session_id].map(async (id) => (await world.runes(id)).length))
  await world.restart()
  const before = await logs()

  await close()
  const next = await startServer(
    backendOf(world.sw, { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }),
  )
  open.push(next.close)
  const again = await Promise.all(sent.map(([path, body]) => next.ask(path, { body, headers: key('k') })))
  const resent = await next.ask(messages, { body: { input: 'Hello.' }, headers: key('m') })
  const denied = await next.ask(deny, { body: { reason: 'No.' }, headers: key('d') })
  for (const [one, two] of [...first.map((one, i) => [one, again[i]]), [message, resent]]) {
    expect(two?.json).toEqual({ ...one?.json, is_repeated: true })
    expect(two?.headers.get('idempotency-replayed')).toBe('true')
  }
  expect(denied.json).toMatchObject({ is_repeated: true })
  expect(await next.ask(deny, { body: { reason: 'Never.' }, headers: key('d') })).toMatchObject({ status: 422 })
  expect(await next.ask('/api/sessions', { body: { agent: 'support' }, headers: key('k') })).toMatchObject({
    status: 422,
  })
  expect(await logs()).toEqual(before)
})

test('idempotency: any other request with a key is carried out once, and its answer kept', async () => {
  const tokens = ['mia', 'noa'].map((name) => tokenOf(name, 'admin', `${name}-secret`))
  const { ask, world } = await served({ tokens })
  const mine = { token: 'mia-secret' }
  const { session_id } = (await ask('/api/runs', { ...mine, body: { agent: 'support', input: 'Go.' } })).json
  await world.sw.idle()
  const pause = `/api/sessions/${session_id}/pause`
  const first = await ask(pause, { ...mine, body: {}, headers: key('p') })
  expect(first).toMatchObject({ status: 200, json: { state: 'paused' } })
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  const second = await ask(pause, { ...mine, body: {}, headers: key('p') })
  expect(second).toMatchObject({ status: 200, json: first.json })
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect((await world.runes(session_id)).filter(({ kind }) => kind === 'session.paused')).toHaveLength(1)

  // Another content is refused; without the key, or with someone else's, it is another request, which the machine refuses.
  expect(await ask(pause, { ...mine, body: { reason: 'x' }, headers: key('p') })).toMatchObject({
    status: 422,
    json: { code: 'key_reused' },
  })
  expect(await ask(pause, { ...mine, body: {} })).toMatchObject({ status: 409, json: { code: 'transition_refused' } })
  expect(await ask(pause, { token: 'noa-secret', body: {}, headers: key('p') })).toMatchObject({ status: 409 })
  // A refusal is not kept: the same request is carried out once it can be.
  await ask(`/api/sessions/${session_id}/resume`, { ...mine, body: {} })
  expect(await ask(pause, { token: 'noa-secret', body: {}, headers: key('p') })).toMatchObject({ status: 200 })
})

test('idempotency: a repetition of a request under way is refused as request_under_way', async () => {
  const goOn = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  let carriedOut = 0
  const slow = defineOperation({
    ...endpoint('slow', 'POST /api/slow', { returns: z.object({ times: z.int() }) }),
    scope: 'read',
    summary: 'Takes its time.',
    async run() {
      carriedOut += 1
      begun.resolve()
      await goOn.promise
      return { times: carriedOut }
    },
  })
  const { ask } = await served({ operations: [...operations, slow] })
  const first = ask('/api/slow', { body: {}, headers: key('s') })
  await begun.promise
  expect(await ask('/api/slow', { body: {}, headers: key('s') })).toMatchObject({
    status: 409,
    json: { code: 'request_under_way', retry: 'later' },
  })
  goOn.resolve()
  expect((await first).json).toEqual({ times: 1 })
  expect((await ask('/api/slow', { body: {}, headers: key('s') })).json).toEqual({ times: 1 })
  expect(carriedOut).toBe(1)
})

test('idempotency: answers are kept for a day, up to a limit, and never while they are outstanding', async () => {
  let now = 0
  const kept = createKeptAnswers({ ...usualLimits, keptAnswers: 3 }, { now: () => now, isExclusive: true })
  let carriedOut = 0
  const answer = async () => ({ status: 200, body: `${++carriedOut}` })
  for (const key of ['a', 'b', 'c']) await kept.once('here', key, 'f', answer)
  expect(await kept.once('here', 'a', 'f', answer)).toEqual({ status: 200, body: '1', isReplayed: true })
  expect(await kept.once('there', 'a', 'f', answer)).toMatchObject({ body: '4', isReplayed: false })
  expect(kept.size()).toBe(3)
  expect(await kept.once('here', 'c', 'f', answer)).toMatchObject({ isReplayed: true })
  now = usualLimits.keptAnswersMs - 1
  expect(await kept.once('here', 'c', 'f', answer)).toMatchObject({ isReplayed: true })
  now += 1
  await kept.once('here', 'd', 'f', answer)
  expect(kept.size()).toBe(1)
  expect(usualLimits.keptAnswersMs).toBe(24 * 3_600_000)
})

test('idempotency: a key is a text with or without quotes', () => {
  expect(readKey(undefined)).toBeNull()
  expect(readKey('"8e03978e-40d5-43dd-bc93-6894a57f9324"')).toBe('8e03978e-40d5-43dd-bc93-6894a57f9324')
  expect(readKey('8e03978e')).toBe('8e03978e')
  for (const bad of ['', '""', 'a b', 'é', 'x'.repeat(201), ['a', 'b']])
    expect(() => readKey(bad)).toThrow(expect.objectContaining({ code: 'key_unusable' }))
})
