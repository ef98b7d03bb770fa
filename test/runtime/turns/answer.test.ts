import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestClock, drained } from '../../../src/adapters/system/testing.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import type { Model, ModelEvent, ModelRequest } from '../../../src/runtime/model.ts'
import { type Answer, answer } from '../../../src/runtime/turns/answer.ts'
import { roughText } from '../../support/rough-text.ts'
import { turnsDuring } from '../../support/turns-during.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'

const request: ModelRequest = { instructions: '', messages: [], tools: [], memories: [] }

const delta = (text: string, channel: 'text' | 'reasoning' = 'text'): ModelEvent => ({ type: 'delta', channel, text })
const done = (finish: 'stop' | 'tool_calls' | 'length' | 'content_filter' = 'stop'): ModelEvent => ({
  type: 'done',
  finish,
})
const toolCall = (name: string, args: Json = {}): ModelEvent => ({ type: 'tool_call', name, arguments: args })
const usage: ModelEvent = { type: 'usage', inputTokens: 7, outputTokens: 3 }

function start(stream: Model['stream'], silence_ms?: number) {
  const hand = createTestClock()
  const abort = new AbortController()
  const deltas: string[] = []
  const answers: Answer[] = []
  const options = {
    ...hand,
    signal: abort.signal,
    onDelta: (channel: string, text: string) => void deltas.push(`${channel}: ${text}`),
    ...(silence_ms === undefined ? {} : { silence_ms }),
  }
  const promise = answer({ id: 'test', stream }, request, options).then((a) => {
    answers.push(a)
    return a
  })
  return { ...hand, abort, deltas, answers, promise }
}

const playing = (...events: readonly unknown[]) =>
  start(async function* () {
    for (const event of events) yield event as ModelEvent
  })

test('answer: an answer without calls is final, with its text, usage and finish', async () => {
  const { promise, deltas, pending } = playing(
    delta('think', 'reasoning'),
    delta('Hel'),
    delta('lo'),
    usage,
    done('length'),
  )
  expect(await promise).toEqual({
    kind: 'final',
    text: 'Hello',
    usage: { input_tokens: 7, output_tokens: 3 },
    finish: 'length',
  })
  expect(deltas).toEqual(['reasoning: think', 'text: Hel', 'text: lo'])
  expect(pending()).toBe(0)
})

test('answer: an answer with calls has them in order, as they were written', async () => {
  const { promise } = playing(delta('One moment.'), toolCall('a.b', '{"x":'), toolCall('c', { y: 1 }), done('stop'))
  expect(await promise).toEqual({
    kind: 'calls',
    text: 'One moment.',
    calls: [
      { name: 'a.b', arguments: '{"x":' },
      { name: 'c', arguments: { y: 1 } },
    ],
    usage: { input_tokens: 0, output_tokens: 0 },
  })
})

test('answer: an answer that a filter cut off makes no calls', async () => {
  expect(await playing(toolCall('a'), done('content_filter')).promise).toMatchObject({
    kind: 'final',
    finish: 'content_filter',
  })
})

test('answer: nothing after done counts', async () => {
  expect(await playing(delta('a'), done(), delta('b'), toolCall('x')).promise).toMatchObject({
    kind: 'final',
    text: 'a',
  })
})

test('answer: a stream that ends without done is truncated, and its text is kept', async () => {
  expect(await playing(delta('Hal'), usage, toolCall('a')).promise).toEqual({
    kind: 'error',
    errorType: 'stream_truncated',
    message: 'The stream ended before the answer was complete.',
    retryable: true,
    partial: 'Hal',
    usage: { input_tokens: 7, output_tokens: 3 },
  })
})

test('answer: an error of the provider is handed on with its own terms', async () => {
  const error = { type: 'error', errorType: 'rate_limit', message: 'slow down', retryable: true, retryAfterMs: 900 }
  expect(await playing(delta('x'), error).promise).toMatchObject({
    kind: 'error',
    errorType: 'rate_limit',
    retryable: true,
    retryAfterMs: 900,
    partial: 'x',
  })
})

test('answer: a stream that throws, at once or later, is an error', async () => {
  const atOnce = start(() => {
    throw Object.assign(new Error('no key'), { code: 'unauthorized', retryable: false })
  })
  expect(await atOnce.promise).toMatchObject({
    kind: 'error',
    errorType: 'unauthorized',
    message: 'no key',
    retryable: false,
  })
  const later = start(async function* () {
    yield delta('so ')
    throw new Error('socket hang up')
  })
  expect(await later.promise).toMatchObject({
    errorType: 'stream_failed',
    message: 'socket hang up',
    retryable: true,
    partial: 'so ',
  })
})

const brokenEvents: readonly unknown[] = [
  undefined,
  null,
  'text',
  {},
  { type: 'surprise' },
  { type: 'delta', channel: 'text' },
  { type: 'delta', channel: 'smell', text: 'x' },
  { type: 'emotion', category: 'positive', confidence: 1 },
  { type: 'emotion', primary: 'joy', confidence: 1 },
  { type: 'emotion', primary: 'joy', category: 'positive', confidence: 1.1 },
  { type: 'emotion', primary: 'joy', category: 'positive', confidence: '1' },
  { type: 'tool_call', arguments: {} },
  { type: 'tool_call', name: 'a' },
  { type: 'usage', inputTokens: 1.5, outputTokens: 0 },
  { type: 'usage', inputTokens: -1, outputTokens: 0 },
  { type: 'error', message: 'x' },
  { type: 'usage', input_tokens: 1, output_tokens: 0 },
  { type: 'error', errorType: 'x', message: 'x', retryable: true, retry_after_ms: 5 },
  { type: 'done', finish: 'bored' },
  { type: 'done', finish: Symbol('s') },
]
test.each(brokenEvents)('answer: the broken event %j is an error that keeps the text', async (event) => {
  expect(await playing(delta('so far'), event, done()).promise).toMatchObject({
    kind: 'error',
    errorType: 'bad_event',
    partial: 'so far',
  })
})

test.each([undefined, null, Promise.resolve(undefined)])(
  'answer: a stream whose step is %s is an error',
  async (step) => {
    const { promise, pending } = start(() => ({ [Symbol.asyncIterator]: () => ({ next: () => step as never }) }))
    expect(await promise).toMatchObject({ kind: 'error', errorType: 'stream_failed', retryable: true })
    expect(pending()).toBe(0)
  },
)

test('answer: an abort is known from our signal, for every reaction of the stream', async () => {
  const reactions: Model['stream'][] = [
    // It ignores the signal and never says anything again.
    async function* () {
      yield delta('half')
      await new Promise(() => {})
    },
    // It throws something that does not look like an abort.
    async function* (_request, signal) {
      yield delta('half')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new TypeError('terminated'))))
    },
    // It pretends to be done.
    async function* (_request, signal) {
      yield delta('half')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      yield done()
    },
  ]
  for (const stream of reactions) {
    const { promise, abort, pending } = start(stream)
    await drained()
    abort.abort()
    expect(await promise).toEqual({ kind: 'aborted', partial: 'half', usage: { input_tokens: 0, output_tokens: 0 } })
    expect(pending()).toBe(0)
  }
})

test('answer: an AbortError that we did not ask for is an error', async () => {
  const { promise } = start(async function* () {
    yield delta('x')
    throw new DOMException('This operation was aborted', 'AbortError')
  })
  expect(await promise).toMatchObject({ kind: 'error', retryable: true })
})

test('answer: after an abort the model is not called, and the stream is told to end', async () => {
  let opened = 0
  let closed = 0
  const stream = async function* () {
    opened++
    try {
      for (;;) yield delta('x')
    } finally {
      closed++
    }
  }
  const before = start(stream)
  before.abort.abort()
  expect(await before.promise).toMatchObject({ kind: 'aborted' })
  // The first event is asked for before anybody can abort; nothing more is.
  expect(opened).toBeLessThanOrEqual(1)

  const first = opened
  const during = start(stream)
  await Promise.resolve()
  during.abort.abort()
  expect(await during.promise).toMatchObject({ kind: 'aborted' })
  await drained()
  expect(opened).toBe(first + 1)
  expect(closed).toBe(opened)
})

test('answer: a stream that falls silent is given up, one that keeps talking is not', async () => {
  const { promise: never, resolve: speak } = Promise.withResolvers<void>()
  const { advance, answers, pending } = start(async function* () {
    yield delta('hm')
    await never
    yield delta('m')
    await new Promise(() => {})
  }, 1000)
  await advance(900)
  speak()
  await advance(900)
  expect(answers).toEqual([])
  await advance(100)
  expect(answers).toMatchObject([{ kind: 'error', errorType: 'stream_silent', retryable: true, partial: 'hmm' }])
  expect(pending()).toBe(0)
})

test('answer: a character that came in two halves is whole in the text, and half a one can be recorded', async () => {
  const [high = '', low = ''] = '😀'.split('')
  expect(await playing(delta(high), delta(low), done()).promise).toMatchObject({ text: '😀' })
  expect(await playing(toolCall(high), done()).promise).toMatchObject({ calls: [{ name: '\ufffd' }] })
  expect(await playing(delta(`a${high}`), done()).promise).toMatchObject({ text: 'a\ufffd' })
})

test('answer: every random stream gives one answer that can be recorded', async () => {
  const event = fc.oneof(
    fc.constantFrom<unknown>(
      ...brokenEvents,
      usage,
      toolCall('a', { x: 1 }),
      done(),
      done('tool_calls'),
      new Error('thrown'),
    ),
    roughText().map((text) => delta(text)),
    roughText({ minLength: 1 }).map((name) => toolCall(name)),
    fc.anything(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 8 }), async (events) => {
      const { promise } = start(async function* () {
        for (const each of events) {
          if (each instanceof Error) throw each
          yield each as ModelEvent
        }
      })
      const said = await promise
      expect(['final', 'calls', 'error']).toContain(said.kind)
      const { calls, ...recorded } = { calls: [], ...said }
      for (const { name } of calls) expect(name.isWellFormed()).toBe(true)
      expect(() => canonicalJson(recorded as unknown as Json)).not.toThrow()
    }),
    { seed: 9, numRuns: proof ? 5_000 : 120 },
  )
})

test.each([
  ['between 20 large deltas that come without a pause', 20, 100_000],
  ['within one delta of 2 million characters', 1, 2_000_000],
])('F-88 models: %s others get their turn', async (_, deltas, length) => {
  const { promise, deltas: heard } = start(async function* () {
    for (let i = 0; i < deltas; i++) yield delta('x'.repeat(length))
    yield done()
  })
  expect(await turnsDuring(() => promise)).toBeGreaterThanOrEqual(20)
  expect(await promise).toMatchObject({
    kind: 'final',
    text: heard.map((piece) => piece.replace('text: ', '')).join(''),
  })
})

test('F-88 models: control characters count with their length in JSON, and an answer of too many is cut', async () => {
  const said = (text: string) => playing(delta(text), done()).promise
  expect(await said('\0'.repeat(666_666))).toMatchObject({ kind: 'final' })
  expect(await said('\0'.repeat(666_667))).toMatchObject({ kind: 'error', errorType: 'answer_too_long' })
  expect(await said('\n'.repeat(4_000_000))).toMatchObject({ kind: 'final' })
})
