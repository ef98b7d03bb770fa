import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import type { Model, ModelEvent } from '../../src/runtime/model.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { readThrown } from '../../src/runtime/thrown.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../src/runtime/tools/tool.ts'
import { streamLimits } from '../../src/runtime/turns/answer.ts'
import { createWorld } from '../support/world.ts'

const secret = 'tok_9fQ2xLmZ7vR4kW1s'
const half = secret.slice(0, 15)
/** As few characters of the secret show that it leaked. */
const trace = secret.slice(0, 6)

const delta = (text: string, channel: 'text' | 'reasoning' = 'text'): ModelEvent => ({ type: 'delta', channel, text })
const done = (finish: 'stop' | 'length' | 'content_filter' = 'stop'): ModelEvent => ({ type: 'done', finish })

async function start(model: Model, run: (context: ToolContext) => Promise<string> | string = () => 'done') {
  const work = tool({ name: 'work', input: z.object({}), readOnly: true, run: (_, context) => run(context) })
  const worker = agent({ role: 'worker', model, tools: [work], retries: { tries: 1 } })
  const world = await createWorld({ agents: { worker }, secrets: { bank: secret } })
  onTestFinished(() => world.end())
  const submitted = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  const recorded = async () => JSON.stringify(await world.runes(submitted.sessionId))
  return { world, run: submitted, recorded }
}

/** Says what is given, and then nothing more until it is stopped. */
const saying = (events: readonly ModelEvent[]): Model => ({
  id: 'saying',
  async *stream(_, signal) {
    yield* events
    if (events.at(-1)?.type === 'done') return
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})

const limit = streamLimits.characters
const cuts: Readonly<Record<string, readonly ModelEvent[]>> = {
  'the limit of an answer': [delta('x'.repeat(limit - 30)), delta(half), delta(`${secret.slice(15)}${'z'.repeat(30)}`)],
  'the end of a stream that has not said all': [delta(`so far ${half}`), { type: 'delta' } as ModelEvent],
  'an error': [delta(`so far ${half}`), { type: 'error', errorType: 'broken', message: 'gone', retryable: false }],
  'the length that a provider allows': [delta(`so far ${half}`), done('length')],
  'a filter of the provider': [delta(`so far ${half}`), done('content_filter')],
  'the end of reasoning that has not come to its end': [
    delta(`so far ${half}`, 'reasoning'),
    { type: 'error', errorType: 'broken', message: 'gone', retryable: false },
  ],
}

test.each(Object.entries(cuts))('F-91 cuts: %s leaves no half of a secret in the record', async (_, events) => {
  const { run, recorded } = await start(saying(events))
  await run.result()
  const text = await recorded()
  expect(text).toMatch(/so far |xxxx/)
  expect(text).not.toContain(trace)
})

test.each(['interrupt', 'cancel'] as const)(
  'F-91 cuts: %s in the middle of a secret records what was said before it',
  async (how) => {
    const { world, run, recorded } = await start(saying([delta(`so far ${half}`)]))
    await world.until(run.sessionId, (rune) => rune.kind === 'turn.started')
    await drained()
    await run[how]('Enough.')
    const { payload } = await world.until(run.sessionId, (rune) => rune.kind === 'turn.interrupted')
    expect(payload).toMatchObject({ partial_output: 'so far ' })
    expect(await recorded()).not.toContain(trace)
  },
)

test('F-91 cuts: a complete answer that ends as a secret begins is recorded whole', async () => {
  const { run } = await start(saying([delta('it begins with tok_9'), done()]))
  expect(await run.result()).toMatchObject({ result: 'it begins with tok_9' })
})

const long = (before: number) => `${'x'.repeat(before)}${secret}${'y'.repeat(100)}`

test.each<[string, ModelEvent]>([
  ['the message of an error', { type: 'error', errorType: 'broken', message: long(3_990), retryable: false }],
  ['the type of an error', { type: 'error', errorType: long(190), message: 'gone', retryable: false }],
  ['the name of an unknown tool', { type: 'tool_call', name: long(90).slice(0, 150), arguments: {} }],
  ['arguments that are no JSON', { type: 'tool_call', name: 'work', arguments: `{"k": ${secret}}` }],
  ['long arguments that are no JSON', { type: 'tool_call', name: 'work', arguments: long(3_990) }],
])('F-91 cuts: %s is cleaned before it is cut', async (_, event) => {
  let isAsked = false
  const { run, recorded } = await start({
    id: 'once',
    async *stream() {
      if (!isAsked) yield event
      else yield delta('ok')
      isAsked = true
      yield done()
    },
  })
  await run.result()
  const text = await recorded()
  expect(text).toContain('[secret:')
  expect(text).not.toContain(trace)
})

test('F-91 cuts: an error of a model is cleaned before it is cut', async () => {
  const { run, recorded } = await start({
    id: 'throwing',
    // biome-ignore lint/correctness/useYield: it throws before it says anything
    async *stream() {
      throw Object.assign(new Error(long(3_990)), { retryable: false })
    },
  })
  await run.result()
  expect(await recorded()).not.toContain(trace)
})

test.each<[string, (context: ToolContext) => Promise<string> | string]>([
  [
    'the limit of progress',
    ({ progress }) => {
      progress('x'.repeat(999_981) + secret)
      return 'done'
    },
  ],
  ['a tool that cuts what it returns', async ({ redact }) => redact(`so far ${half}`, true)],
])('F-91 cuts: %s leaves no half of a secret in the record', async (_, work) => {
  const { run, recorded } = await start(scriptedModel([call('work'), say('ok')]), work)
  await run.result()
  const text = await recorded()
  expect(text).toMatch(/so far |limit of progress/)
  expect(text).not.toContain(trace)
})

test('F-91 cuts: progress of a tool that is given up ends before a half of a secret', async () => {
  const { world, run, recorded } = await start(scriptedModel([call('work'), say('ok')]), ({ progress }) => {
    progress(`so far ${half}`)
    return new Promise(() => {})
  })
  await world.until(run.sessionId, (rune) => rune.kind === 'contract.moved' && rune.to === 'running')
  await world.hand.advance(120_000)
  await world.until(run.sessionId, (rune) => rune.kind === 'tool.progress')
  expect(await recorded()).toContain('so far ')
  expect(await recorded()).not.toContain(trace)
})

test('F-91 cuts: a message that secrets make much shorter ends before a half of one', () => {
  const key = 'k0'.repeat(3_195)
  const { redact } = createRedactor({ secrets: new Map(Object.entries({ key, bank: secret })) })
  const message = `${key.repeat(10)}${'x'.repeat(85)}${secret}`
  expect(readThrown(new Error(message), redact).message).toBe(`[secret:key]${'x'.repeat(85)}`)
})

const password = 'hunter22hunter33'

test('secrets: arguments with one are approved, recorded and run as one value', async () => {
  const seen: unknown[] = []
  const login = tool({
    name: 'site.login',
    input: z.object({ word: z.string() }),
    approval: 'always',
    run: (args) => {
      seen.push(args)
      return 'in'
    },
  })
  const model = scriptedModel([call('site.login', { word: password }), say('done')])
  const world = await createWorld({
    agents: { a: agent({ role: 'a', model, tools: [login] }) },
    secrets: { password },
  })
  const run = await world.sw.runs.start({ agent: 'a', input: 'log in' })
  await world.sw.idle()
  const [waiting] = await world.sw.inbox.list()
  await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(seen).toEqual([{ word: '[secret:password]' }])
  expect(JSON.stringify(await world.runes(run.sessionId))).not.toContain('hunter')
  await world.end()
})

test('secrets: an output is cleaned before it is cut', async () => {
  const long = tool({
    name: 'long.read',
    input: z.object({}),
    readOnly: true,
    maxOutputBytes: 300,
    run: () => `${'x'.repeat(200)}${password}${'y'.repeat(500)}`,
  })
  const model = scriptedModel([call('long.read'), say('done')])
  const world = await createWorld({
    agents: { a: agent({ role: 'a', model, tools: [long] }) },
    secrets: { password },
  })
  const run = await world.sw.runs.start({ agent: 'a', input: 'read' })
  await run.result()
  expect(JSON.stringify(await world.runes(run.sessionId))).not.toContain('hunt')
  await world.end()
})
