import fc from 'fast-check'
/** Interleavings that once went wrong. Each failed before its fix. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import { cleanStream, createRedactor } from '../../src/runelog/redactor.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { storeWith } from '../support/store-with.ts'
import { createWorld } from '../support/world.ts'

const secret = 'hunter22hunter33'

describe('secrets', () => {
  test('a secret that arrives in pieces is never passed on in pieces', () => {
    for (let cut = 0; cut <= secret.length; cut++) {
      const stream = cleanStream(createRedactor({ secrets: new Map([['password', secret]]) }))
      const said = `the password is ${secret}, keep it`
      const at = said.indexOf(secret) + cut
      const passed = [stream.add(said.slice(0, at)), stream.add(said.slice(at)), stream.end()]
      expect(passed.join('')).toBe('the password is [secret:password], keep it')
      for (const piece of passed) expect(piece).not.toMatch(/hunter/)
    }
  })

  test('however secrets overlap and texts are cut, none is passed on, and nothing else is kept back', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 8, maxLength: 11 })
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.array(fc.array(word), { maxLength: 6 }),
        (words, cut) => {
          const stream = cleanStream(createRedactor({ secrets: new Map(words.map((w, i) => [`${i}`, w])) }))
          const pieces = cut.map((parts) => parts.join(''))
          const passed = [...pieces.map((piece) => stream.add(piece)), stream.end()].join('')
          for (const value of words) expect(passed).not.toContain(value)
          expect(passed === '').toBe(pieces.join('') === '')
        },
      ),
      { seed: 11, numRuns: 2_000 },
    )
    const stream = cleanStream(createRedactor({ secrets: new Map([['password', secret]]) }))
    expect([stream.add('is it hun'), stream.add('gry?')]).toEqual(['is it ', 'hungry?'])
  })

  test('arguments with a secret are approved, recorded and run as one value', async () => {
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
    const model = scriptedModel([call('site.login', { word: secret }), say('done')])
    const world = await createWorld({
      agents: { a: agent({ role: 'a', model, tools: [login] }) },
      secrets: { password: secret },
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

  test('an output is cleaned before it is cut', async () => {
    const long = tool({
      name: 'long.read',
      input: z.object({}),
      readOnly: true,
      maxOutputBytes: 300,
      run: () => `${'x'.repeat(200)}${secret}${'y'.repeat(500)}`,
    })
    const model = scriptedModel([call('long.read'), say('done')])
    const world = await createWorld({
      agents: { a: agent({ role: 'a', model, tools: [long] }) },
      secrets: { password: secret },
    })
    const run = await world.sw.runs.start({ agent: 'a', input: 'read' })
    await run.result()
    expect(JSON.stringify(await world.runes(run.sessionId))).not.toContain('hunt')
    await world.end()
  })
})

test('reviewed: a steer without input is refused', async () => {
  const world = await createWorld({ agents: { a: agent({ role: 'a', model: scriptedModel([say('done')]) }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  await expect(run.steer(null)).rejects.toMatchObject({ code: 'input_missing' })
  await world.end()
})

test('reviewed: a redaction waits for the run that is under way, and leaves a waiting one able to go on', async () => {
  let release = () => {}
  const held = new Promise<string>((resolve) => {
    release = () => resolve('read')
  })
  const slow = tool({ name: 'slow.read', input: z.object({}), readOnly: true, run: () => held })
  const pay = tool({
    name: 'payments.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'always',
    run: () => 'paid',
  })
  const model = scriptedModel([call('slow.read'), call('payments.pay'), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [slow, pay] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'my secret wish' })
  const started = await world.until(run.sessionId, (r) => r.kind === 'turn.started')
  await world.until(run.sessionId, (r) => r.kind === 'tool.moved')
  const redact = () => world.sw.sessions.redact(run.sessionId, started.event_id, 'asked for')
  await expect(redact()).rejects.toMatchObject({ code: 'session_busy' })
  release()
  await world.sw.idle()

  await redact()
  const [waiting] = await world.sw.inbox.list()
  await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  await world.end()
})

test.each(['memory', 'sqlite'] as const)(
  'whatever comes while something is erased, no model sees it afterwards (%s)',
  async (store) => {
    const pay = tool({ name: 'payments.pay', input: z.object({}), approval: 'always', run: () => 'paid' })
    let erasedFirst = 0
    const moments = store === 'memory' ? 40 : 10
    for (let lag = 0; lag < moments; lag++) {
      const shown: string[] = []
      const model = scriptedModel((messages, said) => {
        shown.push(JSON.stringify(messages))
        return said === 0 ? call('payments.pay') : say('done')
      })
      const world = await createWorld({ store, agents: { a: agent({ role: 'a', model, tools: [pay] }) } })
      const run = await world.sw.runs.start({ agent: 'a', input: 'my secret wish' })
      await world.sw.idle()
      expect(shown.at(-1)).toContain('my secret wish')
      const [waiting] = await world.sw.inbox.list()
      const started = (await world.runes(run.sessionId)).find((r) => r.kind === 'turn.started')

      // The answer comes some moments after the redaction has begun, each time one later.
      let isErased = false
      const erased = world.sw.sessions.redact(run.sessionId, started?.event_id ?? 0, 'asked for').then(() => {
        isErased = true
      })
      for (let moment = 0; moment < lag; moment++) await null
      if (isErased) erasedFirst++
      await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
      await erased
      await run.result()
      expect(shown.at(-1), `after ${lag} moments`).not.toContain('my secret wish')
      await world.end()
    }
    expect(erasedFirst).toBeLessThan(moments)
  },
)

test('reviewed: a reply that races with a cancel is no crash of the agent', async () => {
  const slow = tool({
    name: 'slow.do',
    input: z.object({}),
    approval: 'always',
    parallel: true,
    timeoutMs: 60_000,
    run: (_, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
  })
  const model = scriptedModel([together(call('slow.do', {}), call('slow.do', {})), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [slow] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  await world.sw.idle()
  const [first, second] = await world.sw.inbox.list()
  await world.sw.inbox.reply(first?.interaction_id ?? '', { reply: { decision: 'approve' } })
  await world.until(run.sessionId, (r) => r.kind === 'tool.approved')
  await Promise.all([
    run.cancel('enough'),
    world.sw.inbox.reply(second?.interaction_id ?? '', { reply: { decision: 'approve' } }).catch(() => undefined),
  ])
  expect(await run.result()).toMatchObject({ status: 'canceled' })
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
  await world.end()
})

test('reviewed: a shutdown leaves delegated tasks alone', async () => {
  const note = tool({ name: 'notes.write', input: z.object({}), approval: 'always', run: () => 'written' })
  const agents = {
    lead: agent({
      role: 'lead',
      model: scriptedModel([call('delegate.scribe', { task: 'one' }), say('all done')]),
      delegates: ['scribe'],
    }),
    scribe: agent({ role: 'scribe', model: scriptedModel([call('notes.write'), say('I wrote it.')]), tools: [note] }),
  }
  const world = await createWorld({ store: 'sqlite', agents })
  const { runId, sessionId } = await world.sw.runs.start({ agent: 'lead', input: 'go' })
  await world.until(sessionId, (r) => r.kind === 'interaction.opened')
  const closing = world.restart()
  await world.hand.advance(10_000)
  await closing
  const [waiting] = await world.sw.inbox.list()
  await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
  expect(await (await world.sw.runs.get(runId)).result()).toMatchObject({ status: 'succeeded', result: 'all done' })
  await world.end()
})

test('fold cache: an entry that cannot be written harms no session', async () => {
  const steps = 500
  const echo = tool({ name: 'echo.it', input: z.object({ n: z.int() }), readOnly: true, run: () => 'x' })
  const model = scriptedModel((_, n) => (n < steps ? call('echo.it', { n }) : say('done')))
  const { openStore } = await import('../../src/app/open-store.ts')
  const store = await openStore('memory:')
  let saves = 0
  const failing = {
    ...store.foldCache,
    save: () => {
      saves++
      throw new Error('disk full')
    },
  }
  const world = await createWorld({
    store: storeWith(store, { foldCache: failing }),
    agents: { a: agent({ role: 'a', model, tools: [echo], maxRounds: steps + 1 }) },
  })
  const run = await world.sw.runs.start({ agent: 'a', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(saves).toBeGreaterThan(0)
  await world.end()
})

test('settle: "did not happen" is refused while the tool has not returned', async () => {
  let pay = () => {}
  let begun = 0
  const bank = tool({
    name: 'bank.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: 1_000,
    probe: async () => ({ outcome: 'did_not' }),
    // It does not heed its signal, and pays in the end.
    run: () => {
      begun++
      return new Promise<string>((resolve) => {
        pay = () => resolve('paid after all')
      })
    },
  })
  const model = scriptedModel([call('bank.pay'), call('bank.pay'), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [bank] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'pay' })
  await world.until(run.sessionId, (r) => r.kind === 'tool.moved')
  for (let i = 0; i < 40; i++) await world.hand.advance(1_000)
  await world.sw.idle()
  // The first call is not recorded as failed, so the model cannot make a second one of it.
  expect((await world.sw.inbox.list()).map((i) => i.interaction_kind)).toEqual(['settlement'])
  pay()
  expect(begun).toBe(1)
  await world.end()
})

test('settle: "did not happen" is refused, each time, after a given-up tool has acted', async () => {
  const slow = Promise.withResolvers<void>()
  let payments = 0
  const bank = tool({
    name: 'bank.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: 1_000,
    async run() {
      await slow.promise
      payments++
      return 'paid'
    },
  })
  const model = scriptedModel([call('bank.pay'), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [bank] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'pay' })
  await world.until(run.sessionId, (r) => r.kind === 'tool.moved')
  await world.hand.advance(1_000)
  await world.sw.idle()
  const [{ interaction_id } = { interaction_id: '' }] = await world.sw.inbox.list()
  const didNot = () => world.sw.inbox.reply(interaction_id, { reply: { outcome: 'did_not' } })
  await expect(didNot()).rejects.toMatchObject({ code: 'too_early' })
  // A person who looked before it paid says the same again.
  slow.resolve()
  while (payments === 0) await drained()
  await drained()
  await expect(didNot()).rejects.toMatchObject({ code: 'reply_unfit' })
  await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened', result: 'paid' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(payments).toBe(1)
  await world.end()
})
