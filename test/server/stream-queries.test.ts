import { expect, onTestFinished, test } from 'vitest'
import { kinds } from '../../src/runes/kinds.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { startServer } from '../support/server.ts'
import { startStreams } from '../support/stream-server.ts'

async function opened() {
  const { world, backend } = await createBackendWorld({ support: supportAgent([refund, say('Done.')]) })
  onTestFinished(() => world.end())
  const streams = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
  const server = await startServer(backend)
  onTestFinished(server.close)
  const run = await world.sw.runs.start({ agent: 'support', input: 'Refund.' })
  await world.sw.idle()
  return { world, run, get: streams.get, read: streams.read, ask: server.ask }
}

test('streams: a query field that a stream does not have is refused, and the refusal lists those it has', async () => {
  const { run, get } = await opened()
  const streams: readonly [string, string][] = [
    [`/api/sessions/${run.sessionId}/stream`, 'Unknown field "bogus". Known fields: after, runes.'],
    [`/api/runs/${run.runId}/events`, 'Unknown field "bogus". Known fields: after.'],
    ['/api/summaries/stream', 'It takes no query.'],
  ]
  for (const [path, says] of streams) {
    const refused = await get(`${path}?bogus=1&__proto__=2`)
    expect(refused.status, path).toBe(422)
    const { code, detail } = (await refused.json()) as { code: string; detail: string }
    expect(code).toBe('bad_request')
    expect(detail).toContain(`query/bogus: ${says}`)
  }
})

test('session stream: runes is read as the flags of operations are, and any other value is refused', async () => {
  const { run, get, read } = await opened()
  const path = `/api/sessions/${run.sessionId}/stream`
  for (const given of ['maybe', '2', '', '1&runes=1']) {
    const refused = await get(`${path}?runes=${given}`)
    expect(refused.status, given).toBe(422)
    expect(await refused.text()).toContain('Expected 1 or true to send the runes, 0 or false to leave them out.')
  }
  for (const [given, isSent] of [
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
  ] as const) {
    const reader = read(`${path}?runes=${given}`)
    await reader.until('a question', () => reader.heard.some(({ data }) => data.includes('int_')))
    expect(
      reader.heard.some(({ type }) => type === 'rune'),
      given,
    ).toBe(isSent)
  }
})

test('list_runes: a kind that does not exist is refused with the kinds that do', async () => {
  const { run, ask } = await opened()
  for (const [given, says] of [
    ['bogus', 'Unknown kind "bogus".'],
    ['tool.,run.move', 'Unknown kind "run.move".'],
    ['bogus.', 'Unknown kind "bogus.".'],
    ['tool', 'Unknown kind "tool".'],
    ['.', 'Unknown kind ".".'],
    [',', 'It names no kind.'],
  ] as const) {
    const { status, json } = await ask(`/api/sessions/${run.sessionId}/runes?kinds=${given}`)
    expect(status, given).toBe(422)
    expect(json.detail).toContain(says)
    for (const kind of Object.keys(kinds)) expect(json.detail).toContain(kind)
  }
  for (const given of ['tool.', 'tool.call', 'goal.,run.moved'])
    expect(await ask(`/api/sessions/${run.sessionId}/runes?kinds=${given}`), given).toMatchObject({ status: 200 })
})

test('cache: only the client may cache an answer that needs a token', async () => {
  const { ask } = await opened()
  for (const path of ['/api/openapi.json', '/api/machines'])
    expect((await ask(path)).headers.get('cache-control'), path).toBe('private, max-age=3600')
})

test('inbox.get: it has the same facts as HTTP, while the question is open and when it is answered', async () => {
  const { world, ask } = await opened()
  const [{ interaction_id } = { interaction_id: '' }] = await world.sw.inbox.list()
  const told = async () => {
    const card = (await ask(`/api/interactions/${interaction_id}`)).json
    expect(await world.sw.inbox.get(interaction_id)).toMatchObject(card)
    return card
  }
  expect(await told()).toMatchObject({ interaction_id, state: 'open', tool: 'payments.refund', closed_by: null })
  await world.sw.inbox.reply(interaction_id, { reply: { decision: 'deny', reason: 'no' }, repliedBy: 'ana' })
  await world.sw.idle()
  expect(await told()).toMatchObject({ interaction_id, state: 'answered', closed_by: 'ana' })
})
