import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { aiSdkModel } from '../../../src/adapters/ai-sdk/ai-sdk-model.ts'
import { errorTypes } from '../../../src/adapters/ai-sdk/classify-error.ts'
import type { ModelEvent } from '../../../src/runtime/model.ts'
import { gist, hear, nameOf, request } from '../../support/hear-model.ts'
import { type Act, type ProviderServer, startProviderServer } from '../../support/provider-server.ts'
import { type Provider, providers } from '../../support/providers.ts'
import type { Refusal } from '../../support/wire/wire.ts'

const key = 'sk-test-0123456789abcdef'
let server: ProviderServer

beforeAll(async () => {
  server = await startProviderServer(key)
})
afterAll(() => server.stop())

interface Row {
  readonly act: Act
  readonly errorType: keyof typeof errorTypes
  readonly retryAfterMs?: number
  /** The words of the provider that must be shown. */
  readonly told?: string
}

const refusal = (status: number, code: string, message: string, more: Partial<Refusal> = {}): Act => ({
  refusal: { status, code, message, ...more },
})
const broken = (code: string, message: string): Act => ({
  said: { says: ['Well,'] },
  breaks: { how: { code, message } },
})
const after = (seconds: string) => ({ headers: { 'retry-after': seconds } })

const rows: readonly Row[] = [
  {
    act: refusal(429, 'rate_limit_error', 'Slow down', after('7')),
    errorType: 'rate_limited',
    retryAfterMs: 7_000,
    told: 'Slow down',
  },
  {
    act: refusal(429, 'rate_limit_exceeded', 'Slow down', {
      headers: { 'retry-after-ms': '1500', 'retry-after': '2' },
    }),
    errorType: 'rate_limited',
    retryAfterMs: 1_500,
  },
  {
    act: refusal(429, 'tokens', 'Rate limit reached: too many tokens, context window of 1 min'),
    errorType: 'rate_limited',
  },
  {
    act: refusal(429, 'insufficient_quota', 'You exceeded your current quota', after('1')),
    errorType: 'quota_exhausted',
    told: 'current quota',
  },
  { act: refusal(402, 'billing_error', 'Pay first'), errorType: 'quota_exhausted' },
  { act: refusal(500, 'api_error', 'Internal server error'), errorType: 'provider_error', told: 'HTTP 500. Internal' },
  { act: refusal(503, 'server_error', 'Try later', after('3')), errorType: 'provider_error', retryAfterMs: 3_000 },
  { act: refusal(529, 'overloaded_error', 'Overloaded'), errorType: 'provider_error', told: 'Overloaded' },
  { act: refusal(502, '', '', { page: '<html>Bad gateway</html>' }), errorType: 'provider_error', told: 'HTTP 502' },
  { act: refusal(408, 'timeout_error', 'Too slow'), errorType: 'timeout' },
  { act: refusal(504, '', '', { page: '<html>Gateway timeout</html>' }), errorType: 'timeout' },
  { act: refusal(403, 'permission_error', 'Not for you'), errorType: 'auth_refused' },
  { act: refusal(404, 'not_found_error', 'model: claude-test'), errorType: 'bad_request', told: 'claude-test' },
  { act: refusal(400, 'invalid_request_error', 'temperature: too hot'), errorType: 'bad_request', told: 'too hot' },
  {
    act: refusal(400, 'invalid_request_error', 'prompt is too long: 212345 tokens > 200000 maximum'),
    errorType: 'context_too_long',
    told: '212345',
  },
  { act: refusal(400, 'context_length_exceeded', 'Too much'), errorType: 'context_too_long' },
  {
    act: refusal(400, 'BadRequestError', "This model's maximum context length is 4096 tokens."),
    errorType: 'context_too_long',
  },
  { act: refusal(413, 'request_too_large', 'Too large'), errorType: 'context_too_long' },
  { act: refusal(400, 'content_policy_violation', 'Rejected'), errorType: 'content_refused' },
  { act: refusal(403, 'moderation', 'Your input was flagged'), errorType: 'content_refused' },
  { act: broken('overloaded_error', 'Overloaded'), errorType: 'provider_error', told: 'Overloaded' },
  { act: broken('server_error', 'Something broke'), errorType: 'provider_error' },
  { act: broken('rate_limit_error', 'Slow down'), errorType: 'rate_limited' },
  { act: broken('rate_limit_exceeded', 'Slow down'), errorType: 'rate_limited' },
  { act: broken('context_length_exceeded', 'Too much'), errorType: 'context_too_long' },
  { act: { said: { says: ['Well,'] }, breaks: { how: 'garbles' } }, errorType: 'provider_error' },
  { act: { hangsUp: true }, errorType: 'connection_lost' },
]

describe.each(providers)('AI SDK: $title', (provider) => {
  const modelOf = (withKey: string | undefined = key) => provider.model({ url: server.url, key: withKey })

  test('every failure has its type, says what happened, and asks for the wait that the provider asked for', async () => {
    for (const { act, errorType, retryAfterMs, told = '' } of rows) {
      server.will(act)
      const { others } = gist(await hear(modelOf()))
      expect(others, JSON.stringify(act)).toEqual([
        {
          type: 'error',
          errorType,
          retryable: errorTypes[errorType].retryable,
          message: expect.stringContaining(errorTypes[errorType].says),
          ...(retryAfterMs !== undefined && { retryAfterMs }),
        },
      ])
      expect(others[0]).toMatchObject({ message: expect.stringContaining(told) })
      expect(server.actsLeft()).toBe(0)
      expect(server.served.at(-1)?.outcome).toMatch(/^(refused|error|garbles|hung up)/)
    }
  })

  test('a refused key is in no message, wherever the provider quotes it', async () => {
    const wrong = 'opensesame'
    const refused = gist(await hear(modelOf(wrong))).others
    expect(refused).toEqual([expect.objectContaining({ errorType: 'auth_refused', retryable: false })])
    expect(server.served.at(-1)?.outcome).toBe('key refused')
    const quoted = `Bad header "authorization: Bearer ${key}" (x-api-key=${key}, ${key})`
    server.will(
      refusal(500, 'api_error', quoted),
      broken('server_error', quoted),
      refusal(400, 'invalid_request_error', quoted),
    )
    const said = [...refused, ...(await hear(modelOf())), ...(await hear(modelOf())), ...(await hear(modelOf()))]
    expect(said.filter(({ type }) => type === 'error')).toHaveLength(4)
    expect(JSON.stringify(said)).toContain('Bad header')
    for (const secret of [key, wrong]) expect(JSON.stringify(said)).not.toContain(secret)
  })

  test('no server listens at the address', async () => {
    const url = await closedPort()
    const { others } = gist(await hear(provider.model({ url, key })))
    expect(others).toEqual([expect.objectContaining({ errorType: 'connection_lost', retryable: true })])
  })

  test.each(['our signal', 'leaving'])(
    'a request in silence ends with %s, and the provider sees it go',
    async (how) => {
      server.will({ said: { says: ['Let me ', 'think'] }, breaks: { how: 'stalls' } })
      const ours = new AbortController()
      const events: ModelEvent[] = []
      const stream = aiSdkModel(modelOf()).stream(request, ours.signal)[Symbol.asyncIterator]()
      while (gist(events).text !== 'Let me think') events.push((await stream.next()).value)
      const waiting = stream.next()
      await expect.poll(() => server.served.at(-1)?.outcome).toBe('stalls')
      if (how === 'leaving') void stream.return?.()
      else ours.abort()
      await server.served.at(-1)?.gone
      for (let last = await waiting; last.done !== true; last = await stream.next()) events.push(last.value)
      expect(events.map(nameOf).filter((name) => name !== 'alive' && name !== 'delta')).toEqual([])
    },
  )
})

async function closedPort(): Promise<string> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  await new Promise((resolve) => listener.close(resolve))
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`
}

const needKeys = providers.filter(({ title }) => !title.startsWith('openai-compatible'))

describe.each(needKeys)('AI SDK: $title without a key', (provider: Provider) => {
  test('has a problem at start, and the first request fails with auth_refused', async () => {
    for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']) vi.stubEnv(name, undefined)
    const model = provider.model({ url: server.url })
    const before = server.served.length
    expect(aiSdkModel(model).problem?.()).toMatch(/API key is missing.*_API_KEY environment variable/)
    expect(await hear(model)).toEqual([
      expect.objectContaining({
        errorType: 'auth_refused',
        retryable: false,
        message: expect.stringMatching(/_API_KEY/),
      }),
    ])
    expect(server.served).toHaveLength(before)
    vi.unstubAllEnvs()
  })
})

test('provider failures: a model that has its key has no problem', () => {
  for (const provider of providers)
    expect(aiSdkModel(provider.model({ url: 'http://127.0.0.1:1/v1', key })).problem?.()).toBeUndefined()
})
