import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gist, hear as hearModel, nameOf } from '../../../support/hear-model.ts'
import { type ProviderServer, startProviderServer } from '../../../support/provider-server.ts'
import { type Provider, providers } from '../../../support/providers.ts'
import type { Said } from '../../../support/wire/wire.ts'

const key = 'sk-test-0123456789abcdef'
const proof = process.env.STATEWRIGHT_PROOF === '1'
let server: ProviderServer

beforeAll(async () => {
  server = await startProviderServer(key)
})
afterAll(() => server.stop())

const hear = (provider: Provider) => hearModel(provider.model({ url: server.url, key }))

const usage = { type: 'usage', inputTokens: 11, outputTokens: 7 }
const pieces = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
const hasReasoning = ({ title }: Provider) => !/openai v\d, chat/.test(title)

const calling: Said = {
  thinks: ['Someone must ', 'be told.'],
  says: ['One ', 'moment.'],
  calls: [
    { name: 'mail_send', arguments: pieces('{"to":"ann@example.org","subject":"Grüße"}', 5) },
    { name: 'mail_send', arguments: ['{"to":', '"bob@example.org"}'] },
  ],
}

describe.each(providers)('AI SDK: $title', (provider) => {
  test('streams text, reasoning, calls over several deltas, and usage', async () => {
    server.will({ said: calling })
    const events = await hear(provider)
    expect(gist(events)).toEqual({
      text: 'One moment.',
      reasoning: hasReasoning(provider) ? 'Someone must be told.' : '',
      others: [
        usage,
        { type: 'tool_call', name: 'mail.send', arguments: '{"to":"ann@example.org","subject":"Grüße"}' },
        { type: 'tool_call', name: 'mail.send', arguments: '{"to":"bob@example.org"}' },
        { type: 'done', finish: 'tool_calls' },
      ],
    })
    expect(server.served.at(-1)).toMatchObject({ outcome: 'answered', path: provider.wire.path })
  })

  test('reads an answer that comes byte by byte', async () => {
    const text = 'Grüße, 世界 🌍!'
    server.will({ said: { says: pieces(text, 3) }, byteByByte: true })
    expect(gist(await hear(provider))).toEqual({
      text,
      reasoning: '',
      others: [usage, { type: 'done', finish: 'stop' }],
    })
  })

  test('says how the answer finished', async () => {
    server.will({ said: { says: ['And so'], finish: 'length' } }, { said: { says: ['I'], finish: 'refused' } })
    expect((await hear(provider)).at(-1)).toEqual({ type: 'done', finish: 'length' })
    expect((await hear(provider)).at(-1)).toEqual({ type: 'done', finish: 'content_filter' })
  })

  test('makes no call of an answer that reached its limit', async () => {
    server.will({ said: { ...calling, finish: 'length' } })
    const { others } = gist(await hear(provider))
    expect(others).toEqual([usage, expect.objectContaining({ errorType: 'answer_too_long', retryable: false })])
  })

  test('reports an answer that is cut off anywhere as an error, never as a call', async () => {
    const { wholeAfter } = provider.wire.frames(calling)
    for (const how of ['ends', 'drops', 'resets'] as const)
      for (let after = 0; after < wholeAfter; after += how === 'resets' && !proof ? 7 : 1) {
        server.will({ said: calling, breaks: { how, after } })
        const { others } = gist(await hear(provider))
        const expected = how === 'ends' ? ['stream_truncated'] : ['connection_lost']
        expect({ how, after, types: others.map(nameOf) }).toEqual({ how, after, types: expected })
        expect(others[0]).toMatchObject({ retryable: true })
        expect(server.served.at(-1)?.outcome).toBe(how)
      }
  })
})
