import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { boundedJson, canonicalJson, type Json, jsonLimits } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import type { Model, ModelEvent } from '../../../src/runtime/model.ts'
import { call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../../src/runtime/tools/tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

function ring(): unknown {
  const self: Record<string, unknown> = {}
  self.self = self
  return self
}

/** A value of 2^40 members that takes 40 objects. */
function shared(): unknown {
  let value: unknown = 'x'
  for (let i = 0; i < 40; i++) value = [value, value]
  return value
}

const thrower = () => {
  throw new Error('no')
}

const hostile: readonly (readonly [name: string, make: () => unknown, says: RegExp])[] = [
  ['nested 65 deep', () => nested(65), /deeper than 64 levels/],
  ['nested 5,000 deep', () => nested(5_000), /deeper than 64 levels/],
  ['nested 100,000 deep', () => nested(100_000), /deeper than 64 levels/],
  ['a ring', ring, /deeper than 64 levels/],
  ['the same list twice, 40 times over', shared, /more than 100000 values/],
  ['a list that claims four billion items', () => new Array(2 ** 32 - 1), /more than 100000 values/],
  ['a list of 100,001 items', () => new Array(100_001).fill(0), /more than 100000 values/],
  ['nine million characters', () => ({ text: 'x'.repeat(9_000_000) }), /more than 8000000 characters/],
  [
    'a getter that throws',
    () => Object.defineProperty({}, 'a', { enumerable: true, get: thrower }),
    /\$\.a cannot be read/,
  ],
  ['a proxy that throws', () => new Proxy({}, { ownKeys: thrower }), /cannot be read/],
  ['a proxy of a list without end', () => new Proxy([], { get: (_, key) => (key === 'length' ? 1e9 : 0) }), /values/],
  ['a revoked proxy', revoked, /cannot be read|has been revoked/],
  ['a toJSON function', () => ({ toJSON: () => 'harmless' }), /\$\.toJSON is function/],
  [
    'a member called __proto__',
    () => JSON.parse('{"a":{"__proto__":{"admin":true}}}'),
    /\$\.a has a member called __proto__/,
  ],
  ['a lone surrogate', () => ({ a: '\ud800' }), /\$\.a is a string with a lone surrogate/],
  ['a key with a lone surrogate', () => ({ '\udc00': 1 }), /key is a string with a lone surrogate/],
  ['not a number', () => [Number.NaN], /\$\[0\] is NaN/],
  ['a big integer', () => ({ n: 1n }), /bigint/],
  ['a symbol key', () => ({ [Symbol('a')]: 1 }), /hidden members/],
  ['a map', () => new Map([[1, 2]]), /not a plain object/],
]

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

test.each(hostile)('F-88 bounded JSON: %s is refused with a sentence', (_, make, says) => {
  const read = boundedJson(make(), jsonLimits.result) as { problem: string }
  expect(read.problem).toMatch(says)
  expect(read.problem.length).toBeLessThan(500)
})

test('F-88 bounded JSON: a getter is read once, and the copy has that value', () => {
  let reads = 0
  const given = Object.defineProperty({}, 'a', { enumerable: true, get: () => ++reads })
  expect(boundedJson(given, jsonLimits.result)).toEqual({ value: { a: 1 } })
  expect(reads).toBe(1)
  expect(({} as { admin?: boolean }).admin).toBeUndefined()
})

test('F-88 canonical JSON: a ring and a value nested 257 deep are refused, not a stack overflow', () => {
  expect(canonicalJson(nested(256) as Json)).toHaveLength(512)
  for (const value of [nested(257), nested(50_000), ring()])
    expect(() => canonicalJson(value as Json)).toThrow(new TypeError('The value is nested deeper than 256 levels.'))
})

async function worldWith(run: (context: ToolContext) => unknown, irreversible = false) {
  const look = tool({
    name: 'orders.look',
    input: z.object({}),
    approval: 'never',
    irreversible,
    run: (_, context) => run(context) as Json,
  })
  const worker = agent({ role: 'worker', model: scriptedModel([call('orders.look'), say('done')]), tools: [look] })
  const world = await createWorld({ agents: { worker } })
  onTestFinished(() => world.end())
  return world
}

test.each(hostile)(
  'F-88 tools: a call that returns %s fails with a sentence, and the run goes on',
  async (_, make, says) => {
    const world = await worldWith(make)
    const run = await world.sw.runs.start({ agent: 'worker', input: 'look' })
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
    const runes = await world.runes(run.sessionId)
    const result = runes.find((rune) => rune.kind === 'tool.result')
    expect(result?.payload).toMatchObject({ status: 'error', error: expect.stringMatching(says) })
    expect(auditRunes(runes)).toEqual([])
  },
)

test('F-88 tools: an irreversible call that returns a value nested 5,000 deep has happened', async () => {
  const world = await worldWith(() => nested(5_000), true)
  const run = await world.sw.runs.start({ agent: 'worker', input: 'look' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const result = (await world.runes(run.sessionId)).find((rune) => rune.kind === 'tool.result')
  expect(result?.payload).toMatchObject({ status: 'success', output: expect.stringContaining('was carried out') })
})

test('F-88 tools: progress beyond the limit is cut with a notice, and a hostile question is refused', async () => {
  const asked: unknown[] = []
  const world = await worldWith(async ({ progress, ask }) => {
    for (let i = 0; i < 30; i++) progress('x'.repeat(100_000))
    for (const make of [() => nested(5_000), ring, revoked, shared])
      await ask(make() as Json).catch((error: Error) => asked.push(error.message))
    return 'ok'
  })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'look' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const runes = await world.runes(run.sessionId)
  const chunks = runes.flatMap((rune) => (rune.kind === 'tool.progress' ? [rune.payload.chunk] : [])).join('')
  expect(chunks.length).toBeLessThan(1_000_200)
  expect(chunks).toMatch(/The limit of progress reports is reached/)
  expect(asked).toHaveLength(4)
  for (const message of asked) expect(message).toMatch(/^The request does not fit: .* No person was asked\.$/)
})

const streams: readonly (readonly [name: string, events: () => Iterable<unknown>, type: string])[] = [
  [
    'deltas without end',
    () => forever({ type: 'delta', channel: 'text', text: 'x'.repeat(10_000) }),
    'ANSWER_TOO_LONG',
  ],
  ['calls without end', () => forever({ type: 'tool_call', name: 'a', arguments: {} }), 'ANSWER_TOO_LONG'],
  [
    'moods without end',
    () => forever({ type: 'emotion', primary: 'a', category: 'b', confidence: 1 }),
    'ANSWER_TOO_LONG',
  ],
  ['a call with a long name', () => [{ type: 'tool_call', name: 'a'.repeat(1_000_000), arguments: {} }], 'BAD_EVENT'],
  ['provider state nested deep', () => [{ type: 'provider_state', state: nested(5_000) }], 'BAD_EVENT'],
  ['more tokens than there are', () => [{ type: 'usage', inputTokens: 2 ** 53 - 1, outputTokens: 0 }], 'BAD_EVENT'],
  ['an event that cannot be read', () => [Object.defineProperty({}, 'type', { get: thrower })], 'BAD_EVENT'],
  [
    'a long error',
    () => [{ type: 'error', errorType: 'x'.repeat(1e6), message: 'y'.repeat(1e6), retryable: false }],
    'X',
  ],
]

function* forever(event: unknown): Iterable<unknown> {
  for (;;) yield event
}

function playing(events: () => Iterable<unknown>): Model {
  return {
    id: 'hostile',
    async *stream() {
      for (const event of events()) yield event as ModelEvent
    },
  }
}

test.each(streams)('F-88 models: %s end the run with a sentence', async (_, events, type) => {
  const worker = agent({ role: 'worker', model: playing(events) })
  const world = await createWorld({ agents: { worker } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'worker', input: 'talk' })
  let result: Awaited<ReturnType<typeof run.result>> | undefined
  void run.result().then((came) => {
    result = came
  })
  await expect.poll(() => world.hand.advance(60_000).then(() => result?.status)).toBe('failed')
  expect(result?.errorCode).toMatch(new RegExp(`^${type}`))
  expect(result?.message?.length).toBeLessThan(5_000)
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
})

test('F-88 models: a stream that never waits and never ends leaves the process responsive and can be cancelled', async () => {
  const worker = agent({ role: 'worker', model: playing(() => forever({ type: 'alive' })) })
  const world = await createWorld({ agents: { worker } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'worker', input: 'talk' })
  await world.until(run.sessionId, (rune) => rune.kind === 'turn.started')
  await run.cancel('enough')
  expect(await run.result()).toMatchObject({ status: 'canceled' })
})

test('F-88 models: arguments of every hostile kind fail their call with a sentence', async () => {
  const made = [
    ...hostile.map(([, make]) => make()),
    '['.repeat(200_000) + ']'.repeat(200_000),
    '"'.repeat(2_000_000),
    '{"__proto__":{"admin":true}}',
    '{"a":1e999}',
    '{"a":"\\ud800"}',
  ]
  const look = tool({ name: 'orders.look', input: z.looseObject({}), approval: 'never', run: () => 'ran' })
  const model = scriptedModel([together(...made.map((args) => call('orders.look', args as Json))), say('done')])
  const worker = agent({ role: 'worker', model, tools: [look] })
  const world = await createWorld({ agents: { worker } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'worker', input: 'look' })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  const runes = await world.runes(run.sessionId)
  const errors = runes.flatMap((rune) => (rune.kind === 'tool.result' ? [rune.payload.error] : []))
  expect(errors).toHaveLength(made.length)
  for (const error of errors)
    expect(error).toMatch(/^The arguments (are not JSON|cannot be recorded|have \d+ characters)/)
  expect(auditRunes(runes)).toEqual([])
})
