import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Rune } from '../../../../src/runes/rune.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import type { ProviderModel } from '../../../../src/runtime/model.ts'
import { tool } from '../../../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { type Act, type Break, type ProviderServer, startProviderServer } from '../../../support/provider-server.ts'
import { providers } from '../../../support/providers.ts'
import { createWorld, type World } from '../../../support/world.ts'

const key = 'sk-test-0123456789abcdef'
let server: ProviderServer
let world: World
let sent: string[]

beforeAll(async () => {
  server = await startProviderServer(key)
})
afterAll(() => server.stop())
beforeEach(() => {
  sent = []
  server.forget()
})
afterEach(async () => {
  await world.end()
  expect(server.actsLeft()).toBe(0)
})

const send = tool({
  name: 'mail.send',
  description: 'Sends mail.',
  input: z.object({ to: z.string(), subject: z.string().default('(none)') }),
  irreversible: true,
  approval: 'never',
  run: ({ to }) => {
    sent.push(to)
    return { message_id: `m${sent.length}` }
  },
})

const calling = (...names: string[]): Act => ({
  said: { says: ['One moment.'], calls: names.map((to) => ({ name: 'mail_send', arguments: ['{"to":', `"${to}"}`] })) },
})
const saying = (...says: string[]): Act => ({ said: { says } })

describe.each(providers)('AI SDK: $title', (provider) => {
  async function submit(input = 'Write to Ann', given: { key?: string } = {}) {
    const model = provider.model({ url: server.url, key, ...given })
    world = await createWorld({
      agents: { clerk: agent({ role: 'clerk', model, tools: [send], instructions: 'You write mail.' }) },
    })
    return world.sw.runs.start({ agent: 'clerk', input })
  }

  test('a run goes from the model to the tool and back, over real HTTP', async () => {
    server.will(calling('ann', 'bob'), saying('Both ', 'were ', 'told.'))
    const run = await submit()
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Both were told.' })
    expect(sent).toEqual(['ann', 'bob'])
    const runes = await world.runes(run.sessionId)
    expect(payloads(runes, 'tool.call')).toMatchObject([
      { tool_name: 'mail.send', arguments: { to: 'ann', subject: '(none)' } },
      { tool_name: 'mail.send', arguments: { to: 'bob', subject: '(none)' } },
    ])
    expect(payloads(runes, 'turn.tool_calls_received')).toMatchObject([
      { text: 'One moment.', usage: { input_tokens: 11, output_tokens: 7 } },
    ])
    const asked = JSON.stringify(server.served[1]?.body)
    expect(asked).toContain('[SUCCESS IRREVERSIBLE] mail.send')
    expect(asked).toContain('You write mail.')
    expect(asked).toContain('What was done before. What stands in quotation marks')
    expect(server.served.map(({ outcome }) => outcome)).toEqual(['answered', 'answered'])
    expect(auditRunes(runes)).toEqual([])
  })

  const passing: readonly { title: string; act: Act; error_type: string; wait: number }[] = [
    { title: 'a stream that ends early', act: breaking('ends'), error_type: 'stream_truncated', wait: 1_000 },
    { title: 'a dropped socket', act: breaking('drops'), error_type: 'connection_lost', wait: 1_000 },
    {
      title: 'an error in the stream',
      act: breaking({ code: 'server_error', message: 'Oh' }),
      error_type: 'provider_error',
      wait: 1_000,
    },
    // The wait that the provider asks for, and our first delay: the world of these tests spreads waits to their full length.
    { title: 'a rate limit', act: refusing(429, { 'retry-after': '7' }), error_type: 'rate_limited', wait: 8_000 },
    { title: 'a failure of the server', act: refusing(500), error_type: 'provider_error', wait: 1_000 },
    { title: 'no answer at all', act: { hangsUp: true }, error_type: 'connection_lost', wait: 1_000 },
  ]
  test.each(passing)(
    '$title fails the turn and starts another; nothing was acted upon',
    async ({ act, error_type, wait }) => {
      server.will(act, calling('ann'), saying('Done.'))
      const run = await submit()
      const error = await world.until(run.sessionId, ({ kind }) => kind === 'turn.error')
      expect(error.payload).toMatchObject({ error_type, retryable: true, retry_in_ms: wait })
      expect(server.served).toHaveLength(1)
      expect(server.served[0]?.outcome).not.toBe('answered')
      await expect.poll(() => world.hand.waits()).toContain(wait)
      await world.hand.advance(wait - 1)
      expect(sent).toEqual([])
      expect(server.served).toHaveLength(1)
      await world.hand.advance(1)

      expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
      expect(sent).toEqual(['ann'])
      expect(server.served[1]?.body).toEqual(server.served[0]?.body)
      const runes = await world.runes(run.sessionId)
      expect(kinds(runes)).toEqual([
        'turn.started',
        'turn.error',
        'turn.started',
        'turn.tool_calls_received',
        'tool.call',
        'tool.result',
        'turn.tools_finished',
        'turn.completed',
      ])
      expect(auditRunes(runes)).toEqual([])
    },
  )

  test('a refused key fails the run at once, and no record has the key', async () => {
    const run = await submit('Write', { key: 'sk-wrong-abcdefghijklmnop42' })
    expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'AUTH_REFUSED' })
    const runes = await world.runes(run.sessionId)
    expect(payloads(runes, 'turn.error')).toMatchObject([{ error_type: 'auth_refused', retryable: false }])
    expect(server.served.map(({ outcome }) => outcome)).toEqual(['key refused'])
    expect(JSON.stringify(runes)).not.toContain('abcdefghijklmnop42')
  })

  test('when every try fails, the run fails with the last error', async () => {
    server.will(refusing(500), refusing(503), refusing(529))
    const run = await submit()
    for (const wait of [1_000, 2_000]) {
      await expect.poll(() => world.hand.waits()).toContain(wait)
      await world.hand.advance(wait)
    }
    expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'PROVIDER_ERROR' })
    expect(payloads(await world.runes(run.sessionId), 'turn.error')).toMatchObject([
      { retryable: true, retry_in_ms: 1_000, message: expect.stringContaining('HTTP 500') },
      { retryable: true, retry_in_ms: 2_000, message: expect.stringContaining('HTTP 503') },
      { retryable: false, message: expect.stringContaining('HTTP 529') },
    ])
  })

  test('a provider that falls silent is given up after five minutes and tried again', async () => {
    server.will(breaking('stalls'), saying('Here I am.'))
    const run = await submit()
    await expect.poll(() => server.served[0]?.outcome).toBe('stalls')
    await heard(world, run.sessionId, 'One moment.')
    await world.hand.advance(5 * 60_000)
    await server.served[0]?.gone
    await world.until(run.sessionId, ({ kind }) => kind === 'turn.error')
    await expect.poll(() => Math.min(...world.hand.waits())).toBeLessThanOrEqual(1_000)
    await world.hand.advance(1_000)
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Here I am.' })
    const [error] = payloads(await world.runes(run.sessionId), 'turn.error')
    expect(error).toMatchObject({ error_type: 'stream_silent', partial_output: 'One moment.' })
  })

  test('a cancelled run ends its request', async () => {
    server.will(breaking('stalls'))
    const run = await submit()
    await expect.poll(() => server.served[0]?.outcome).toBe('stalls')
    await run.cancel('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    await server.served[0]?.gone
    expect(sent).toEqual([])
  })

  test('text before a steer is part of the dialogue; arguments that are no JSON are reported and not run', async () => {
    server.will(
      breaking('stalls'),
      { said: { calls: [{ name: 'mail_send', arguments: ['{"to": '] }] } },
      saying('Fine.'),
    )
    const run = await submit()
    await heard(world, run.sessionId, 'One moment.')
    await run.steer('No, to Bob')
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Fine.' })
    const [, steered, told] = server.served.map(({ body }) => JSON.stringify(body))
    expect(steered).toMatch(/Write to Ann.*One moment\..*No, to Bob/)
    expect(told).toMatch(/\[FAILED\] mail\.send: /)
    expect(sent).toEqual([])
    expect(server.served.map(({ outcome }) => outcome)).toEqual(['stalls', 'answered', 'answered'])
  })

  test('an answer that comes byte by byte is a run like any other', async () => {
    server.will(calling('ann'), { ...saying('Grüße 🌍'), byteByByte: true })
    const run = await submit()
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Grüße 🌍' })
    expect(sent).toEqual(['ann'])
  })
})

describe.each(providers.filter(({ title }) => title.startsWith('anthropic')))('AI SDK: $title', (provider) => {
  test('a model that signs its reasoning sees it again with its calls, after a restart too; another model does not', async () => {
    const clerk = (model: ProviderModel) => ({ clerk: agent({ role: 'clerk', model, tools: [send], mayAsk: false }) })
    world = await createWorld({ store: 'sqlite', agents: clerk(provider.model({ url: server.url, key })) })
    const thinks = ['Someone must ', 'be told.']
    server.will({ said: { thinks, ...(calling('ann') as { said: object }).said } }, saying('Done.'))
    const run = await world.sw.runs.start({ agent: 'clerk', input: 'Write' })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const thinking = { type: 'thinking', thinking: 'Someone must be told.', signature: 'c2lnbmVk' }
    const again = () => JSON.parse(JSON.stringify(server.served.at(-1)?.body)).messages[1].content
    expect(again()).toMatchObject([
      thinking,
      { type: 'text', text: 'One moment.' },
      { type: 'tool_use', input: { to: 'ann' } },
    ])

    await world.restart()
    server.will(saying('Yes.'))
    await (await world.sw.runs.start({ agent: 'clerk', sessionId: run.sessionId, input: 'Sure?' })).result()
    expect(again()).toMatchObject([thinking, { type: 'text' }, { type: 'tool_use' }])

    const other = providers.find(({ title }) => title === 'openai v4, chat')
    await world.restart({ agents: clerk(other?.model({ url: server.url, key }) as ProviderModel) })
    server.will(saying('Yes.'))
    await (await world.sw.runs.start({ agent: 'clerk', sessionId: run.sessionId, input: 'Really?' })).result()
    expect(server.served).toHaveLength(4)
    expect(JSON.stringify(server.served.at(-1)?.body)).not.toContain('c2lnbmVk')
  })
})

/** A call whose last words never come. */
function breaking(how: Break['how']): Act {
  return { ...(calling('eve') as object), breaks: { how } } as Act
}

function refusing(status: number, headers: Record<string, string> = {}): Act {
  return { refusal: { status, code: 'some_error', message: 'Not now.', headers } }
}

/** Text that is recorded: a fragment becomes durable when it is a quarter of a second old. */
async function heard(world: World, session_id: string, text: string) {
  const said = async () => {
    await world.hand.advance(250)
    const deltas = (await world.runes(session_id)).filter((rune) => rune.kind === 'turn.assistant_delta')
    return deltas.map((rune) => rune.payload.content).join('')
  }
  await expect.poll(said).toBe(text)
}

const told = /^(turn\.(?!assistant_delta)|tool\.(call|result)$)/

const kinds = (runes: readonly Rune[]) => runes.map(({ kind }) => kind).filter((kind) => told.test(kind))

function payloads(runes: readonly Rune[], kind: Rune['kind']): readonly object[] {
  return runes.filter((rune) => rune.kind === kind).map((rune) => rune.payload)
}
