import { describe, expect, test } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { createBackendWorld } from '../../support/backend.ts'
import { created } from '../../support/drafts.ts'
import { memory, openSession, path, session_id } from '../../support/session-on-air.ts'
import { startStreams } from '../../support/stream-server.ts'

const paths = [path, '/api/runs/run_1/events', '/api/summaries/stream']

interface Refusal {
  readonly what: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
}

const refusals: readonly Refusal[] = [
  { what: 'a reader without a token', status: 401, headers: { authorization: '' } },
  { what: 'a wrong token', status: 401, headers: { authorization: 'Bearer not-it' } },
  { what: 'a token in the address', status: 400, query: '?token=the-secret-of-a-reader' },
  { what: 'a page of another site', status: 403, headers: { origin: 'https://evil.example' } },
  { what: 'a page of nowhere', status: 403, headers: { origin: 'null' } },
  { what: 'a request that the browser marks as cross-site', status: 403, headers: { 'sec-fetch-site': 'cross-site' } },
]

describe.each(paths)('stream doors: %s', (where) => {
  test.each(refusals)('is closed to $what', async ({ status, headers, query = '' }) => {
    const { get, streams } = await openSession()
    const response = await get(`${where}${query}`, headers)
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    await response.text()
    expect(streams.count()).toBe(0)
  })
})

test('stream doors: a stream comes with the headers that keep pages of others away from it', async () => {
  const { get } = await openSession()
  const { headers, body } = await get(path)
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'x-request-id': expect.any(String),
  })
  expect(headers.get('access-control-allow-origin')).toBeNull()
  await body?.cancel()
})

test('stream doors: a secret that a model says, in any number of pieces, reaches no reader', async () => {
  const canary = 'sk-canary-0123456789abcdef'
  const text = `The key is ${canary}, and again ${canary}. Keep it.`
  for (const pieces of [1, 3, text.length]) {
    const model = scriptedModel([say(text)], { pieces })
    const { world, backend } = await createBackendWorld(
      { support: agent({ role: 'r', model }) },
      { secrets: { key: canary } },
    )
    const { read } = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
    const { sessionId: session } = await world.sw.sessions.create({ agent: 'support' })
    const readers = [read(`/api/sessions/${session}/stream?runes=1`), read(`/api/sessions/${session}/stream`)]
    for (const reader of readers) await reader.upTo(1)
    const { runId } = await world.sw.runs.start({ agent: 'support', sessionId: session, input: 'Say it.' })
    const run = read(`/api/runs/${runId}/events`)
    for (const reader of readers) await reader.until('the end', () => reader.heard.at(-1)?.type === 'done')
    await run.closed()
    const heard = [...readers, run].flatMap((reader) => reader.heard.map(({ data }) => data)).join('\n')
    expect(heard).toContain('Keep it.')
    expect(heard).not.toContain(canary)
    // Put together, what came early is what was recorded: no piece of it was let out.
    const early = readers[1]?.heard.map(({ data }) => JSON.parse(data)).filter((told) => told.durable === false) ?? []
    const whole = readers[1]?.heard.find(({ type }) => type === 'text')
    const said = early.map(({ payload }) => payload.content).join('')
    expect(said.length).toBeGreaterThan(0)
    expect(JSON.parse(whole?.data ?? '').payload.content.startsWith(said)).toBe(true)
    await world.end()
  }
})

test('stream doors: a reader of another session gets no event of this one', async () => {
  const { runelog, read, write } = await openSession()
  accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
  const other = read('/api/sessions/ses_2/stream?runes=1')
  const own = read(`${path}?runes=1`)
  for (const reader of [other, own]) await reader.upTo(1)
  await write(memory())
  await own.upTo(2)
  expect(other.heard.every(({ data }) => !data.includes(session_id))).toBe(true)
})
