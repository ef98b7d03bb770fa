import { expect, test } from 'vitest'
import { aiSdkModel, type ModelSettings } from '../../../src/adapters/ai-sdk/ai-sdk-model.ts'
import type { CallOptions } from '../../../src/adapters/ai-sdk/provider-shapes.ts'
import { createTestClock } from '../../../src/adapters/system/testing.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { type ModelEvent, type ModelRequest, untrustedNotice } from '../../../src/runtime/model.ts'
import { answer } from '../../../src/runtime/turns/answer.ts'
import type { ConsequenceView, Message } from '../../../src/wire/dialogue.ts'
import { gist, request } from '../../support/hear-model.ts'

/** A model that sends these parts, in the shapes that no server of ours makes the packages send. */
function sending(parts: readonly object[], settings: ModelSettings = {}) {
  const asked: CallOptions[] = []
  const given = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'parts',
    async doStream(options: CallOptions) {
      asked.push(options)
      return { stream: ReadableStream.from(parts) }
    },
  }
  return { model: aiSdkModel(given, settings), asked }
}

async function hear(parts: readonly object[], asking = request) {
  const { model, asked } = sending(parts)
  const events: ModelEvent[] = []
  for await (const event of model.stream(asking, new AbortController().signal)) events.push(event)
  return { ...gist(events), events, asked }
}

const finish = (unified: string, raw?: string) => ({ type: 'finish', finishReason: { unified, raw }, usage: {} })
const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'mail_send', input: '{"to":"ann"}' }

test('ai-sdk parts: a tool that the provider runs itself is text, never a call', async () => {
  const { text, others } = await hear([
    { ...call, toolName: 'web_search', providerExecuted: true, input: '{"q":"rain"}' },
    { type: 'tool-result', toolCallId: 'c1', toolName: 'web_search', result: 'half', preliminary: true },
    { type: 'tool-result', toolCallId: 'c1', toolName: 'web_search', result: [{ title: 'It rains' }] },
    { type: 'tool-result', toolCallId: 'c2', toolName: 'web_fetch', result: 'x'.repeat(5_000), isError: true },
    { type: 'text-delta', id: '1', delta: 'It rains.' },
    finish('tool-calls', 'tool_use'),
  ])
  expect(text).toContain(`[The provider's tool web_search called with {"q":"rain"}]`)
  expect(text).toContain(`[The provider's tool web_search found [{"title":"It rains"}]]`)
  expect(text).toContain("[The provider's tool web_fetch failed with xxx")
  expect(text).not.toContain('half')
  expect(text.length).toBeLessThan(2_500)
  expect(others).toEqual([{ type: 'done', finish: 'tool_calls' }])
})

test('ai-sdk parts: an approval for a tool of the provider cannot be given', async () => {
  const { others } = await hear([{ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' }, finish('stop')])
  expect(others).toMatchObject([{ errorType: 'bad_request', retryable: false }])
})

test.each([
  ['stop', undefined, ['tool_call', 'done']],
  ['tool-calls', undefined, ['tool_call', 'done']],
  ['other', 'compaction', ['tool_call', 'done']],
  ['other', undefined, ['stream_truncated']],
  ['interrupted', undefined, ['stream_truncated']],
  ['error', undefined, ['provider_error']],
  ['content-filter', 'refusal', ['done']],
  ['length', 'max_tokens', ['answer_too_long']],
  ['something new', 'x', ['stream_truncated']],
])('ai-sdk parts: an answer with a call that finishes with %s (%s) is %j', async (unified, raw, expected) => {
  const { others } = await hear([call, finish(unified, raw)])
  expect(others.map((event) => (event.type === 'error' ? event.errorType : event.type))).toEqual(expected)
})

test('usage: tokens that the provider did not count are not made up, and those that are no number are left out', async () => {
  const usage = { inputTokens: { total: 12 }, outputTokens: { total: Number.NaN } }
  expect((await hear([{ ...finish('stop'), usage }])).others[0]).toEqual({
    type: 'usage',
    inputTokens: 12,
    outputTokens: 0,
  })
  expect((await hear([finish('stop')])).others).toEqual([{ type: 'done', finish: 'stop' }])
})

test('ai-sdk parts: each warning of the package is passed on once', async () => {
  const warnings = [{ type: 'unsupported', feature: 'temperature', details: 'It has none.' }]
  const told: string[] = []
  const { model } = sending([{ type: 'stream-start', warnings }, finish('stop')], {
    warn: (message) => told.push(message),
  })
  for (let i = 0; i < 2; i++) for await (const _event of model.stream(request, new AbortController().signal));
  expect(told).toEqual(['unsupported: temperature: It has none.'])
})

test('ai-sdk parts: settings reach the provider', async () => {
  const provider_options = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } }
  const { model, asked } = sending([finish('stop')], {
    maxOutputTokens: 99,
    temperature: 0,
    providerOptions: provider_options,
  })
  for await (const _event of model.stream({ ...request, tools: [] }, new AbortController().signal));
  const { prompt, abortSignal, ...options } = asked[0] as CallOptions
  expect(options).toEqual({ maxOutputTokens: 99, temperature: 0, providerOptions: provider_options })
})

test('ai-sdk parts: arguments that take long to write are not silence', async () => {
  const hand = createTestClock()
  async function* slowly() {
    for (let i = 0; i < 20; i++) {
      await hand.advance(60_000)
      yield { type: 'tool-input-delta', id: 'c1', delta: 'x' }
    }
    yield call
    yield finish('tool-calls')
  }
  const { model } = sending(slowly() as never)
  const said = await answer(model, request, { ...hand, signal: new AbortController().signal, onDelta: () => {} })
  expect(said).toMatchObject({ kind: 'calls', calls: [{ name: 'mail.send' }] })
})

const view = (
  consequence_label: ConsequenceView['consequence_label'],
  more: Partial<ConsequenceView> = {},
): ConsequenceView => ({
  execution_id: 'exe_1',
  action_type: 'tool_call',
  action_summary: 'mail.send',
  consequence_label,
  result: null,
  error_message: null,
  has_side_effects: false,
  was_suspended: false,
  decided_by: null,
  is_still_pending: false,
  total_duration_ms: 1,
  ...more,
})

async function promptOf(messages: readonly Message[], more: Partial<ModelRequest> = {}) {
  const { asked } = await hear([finish('stop')], { ...request, instructions: '', messages, ...more })
  return asked[0]?.prompt
}

test('ai-sdk parts: a dialogue in the words of the AI SDK', async () => {
  const calls = [
    { call_id: 'call_1', name: 'mail.send', arguments: { to: 'ann' } },
    { call_id: 'call_2', name: 'mail.send', arguments: '{"to' },
    { call_id: 'call_3', name: 'gone.tool', arguments: {} },
  ]
  const prompt = await promptOf(
    [
      { role: 'user', content: { order: 7 } },
      { role: 'assistant', text: 'One moment.', calls },
      { role: 'tool', call_id: 'call_2', consequence: view('FAILED', { error_message: 'no JSON' }) },
      { role: 'user', content: ' ' },
      { role: 'tool', call_id: 'call_1', consequence: view('SUCCESS', { result: 'm1', has_side_effects: true }) },
    ],
    { instructions: 'Be brief.', memories: ['Mail to Bob was sent.'] },
  )
  expect(prompt).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: '{"order":7}' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'One moment.' },
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'mail_send', input: { to: 'ann' } },
        { type: 'tool-call', toolCallId: 'call_2', toolName: 'mail_send', input: { not_an_object: '{"to' } },
        { type: 'tool-call', toolCallId: 'call_3', toolName: 'gone_tool', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        result('call_1', 'mail_send', 'text', '[SUCCESS IRREVERSIBLE] mail.send: m1'),
        result('call_2', 'mail_send', 'error-text', '[FAILED] mail.send: no JSON'),
        result('call_3', 'gone_tool', 'error-text', 'Nothing is recorded about this call.'),
      ],
    },
    {
      role: 'user',
      content: [{ type: 'text', text: `What was done before. ${untrustedNotice}\n- "Mail to Bob was sent."` }],
    },
    { role: 'user', content: [{ type: 'text', text: '(an empty message)' }] },
  ])
})

const result = (toolCallId: string, toolName: string, type: string, value: string) => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output: { type, value },
})

test('ai-sdk parts: a partial answer is sent only if a person continued from it', async () => {
  const broken = (text: string): Message => ({ role: 'assistant', text, calls: [], partial: true })
  const user = (content: string): Message => ({ role: 'user', content })
  const prompt = await promptOf([user('a'), broken('b1'), broken('b2'), user('c'), broken('d')])
  expect(prompt?.map(({ role, content }) => [role, JSON.stringify(content).match(/"text":"(\w+)"/)?.[1]])).toEqual([
    ['user', 'a'],
    ['assistant', 'b2'],
    ['user', 'c'],
  ])
})

const signed = (value: string) => ({ providerMetadata: { test: { signature: value, itemId: 'rs_1', nothing: null } } })

test('ai-sdk parts: provider state is sent back in its order, without references that the provider may forget', async () => {
  const { events } = await hear([
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'hm' },
    { type: 'reasoning-end', id: '0', ...signed('one') },
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-delta', id: '1', delta: 'unsigned' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'One ' },
    { type: 'text-delta', id: '0', delta: 'moment.' },
    call,
    { ...call, toolName: 'search', providerExecuted: true, ...signed('no') },
    { ...call, ...signed('two') },
    finish('tool-calls'),
  ])
  const state = {
    model: 'test:parts',
    parts: [
      { type: 'reasoning', text: 'hm', options: { test: { signature: 'one' } } },
      { type: 'text', text: 'One moment.', options: {} },
      { type: 'call', options: {} },
      { type: 'call', options: { test: { signature: 'two' } } },
    ],
  }
  expect(events.filter(({ type }) => type === 'provider_state')).toEqual([{ type: 'provider_state', state }])

  const calls = ['call_1', 'call_2'].map((call_id) => ({ call_id, name: 'mail.send', arguments: {} }))
  const toldAs = async (provider_state: Json, made = calls) => {
    const [, answered] =
      (await promptOf([
        { role: 'user', content: 'a' },
        { role: 'assistant', text: 'One moment.', calls: made, provider_state },
      ])) ?? []
    return answered?.content
  }
  const part = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'mail_send', input: {} })
  const plain = [{ type: 'text', text: 'One moment.' }, part('call_1'), part('call_2')]
  expect(await toldAs(state)).toEqual([
    { type: 'reasoning', text: 'hm', providerOptions: { test: { signature: 'one' } } },
    { type: 'text', text: 'One moment.' },
    part('call_1'),
    { ...part('call_2'), providerOptions: { test: { signature: 'two' } } },
  ])
  expect(await toldAs({ ...state, model: 'test:other' })).toEqual(plain)
  expect(await toldAs('nonsense')).toEqual(plain)
  expect(await toldAs(state, calls.slice(0, 1))).toEqual(plain.slice(0, 2))
  expect(await toldAs({ ...state, parts: state.parts.slice(0, 3) })).toEqual(plain)
})

test.each([
  ['no call', [finish('stop')]],
  ['nothing signed', [call, finish('stop')]],
  ['half a character', [{ ...call, providerMetadata: { test: { signature: '\ud83d' } } }, finish('stop')]],
])('ai-sdk parts: an answer with %s leaves nothing to be seen again', async (_title, parts) => {
  const { events } = await hear([{ type: 'reasoning-delta', id: '0', delta: 'hm' }, ...parts])
  expect(events.map(({ type }) => type)).not.toContain('provider_state')
  expect(events.at(-1)).toEqual({ type: 'done', finish: 'stop' })
})
