import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../../src/app/open-store.ts'
import { DidNotHappen } from '../../../src/index.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { type ToolDefinition, tool } from '../../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld, type WorldOptions } from '../../support/world.ts'

const input = z.object({})

type Declared = Partial<ToolDefinition<typeof input>>

/** An agent pays, and its tool throws this the first time; the model tries once more. */
async function paying(thrown: unknown, declared: Declared = {}, options: Partial<WorldOptions> = {}, ends = true) {
  const keys: string[] = []
  const pay = tool({
    name: 'bank.pay',
    input,
    irreversible: true,
    approval: 'never',
    run(_, { idempotencyKey }) {
      keys.push(idempotencyKey)
      if (keys.length === 1) throw thrown
      return 'paid'
    },
    ...declared,
  })
  const model = scriptedModel([call('bank.pay'), call('bank.pay'), say('done')])
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', model, tools: [pay] }) }, ...options })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'pay' })
  if (ends) await world.sw.idle()
  const runes = await world.runes(run.sessionId)
  expect(auditRunes(runes)).toEqual([])
  const asked = runes.find((rune) => rune.kind === 'interaction.opened')
  const evidence = asked?.kind === 'interaction.opened' ? asked.payload.evidence.slice(1) : undefined
  const recorded = runes.flatMap((rune) => (rune.kind === 'contract.evidence_added' ? [rune.payload] : []))
  return { world, run, keys, runes, evidence, recorded }
}

const hungUp = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

describe('F-01 irreversible tool: an error', () => {
  test('leaves its outcome unknown: it is not called again, and a person is asked', async () => {
    const { world, run, keys } = await paying(hungUp())
    expect(keys).toHaveLength(1)
    expect((await world.sw.runs.show(run.runId)).status).toBe('waiting_user')
    const [{ interaction_id, interaction_kind } = { interaction_id: '', interaction_kind: '' }] =
      await world.sw.inbox.list()
    expect(interaction_kind).toBe('settlement')
    await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened' } })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(keys).toHaveLength(1)
    await world.end()
  })

  test.each([
    ['DidNotHappen', new DidNotHappen('card declined')],
    ['an error of another copy of the package', Object.assign(new Error('declined'), { didNotHappen: true })],
  ])('that is %s is a failure, and the model may call again with the same key', async (_, thrown) => {
    const { world, run, keys } = await paying(thrown)
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    await world.end()
  })

  test.each<[string, Declared]>([
    ["of a tool with onError: 'failed'", { onError: 'failed' }],
    ['of a tool that may be repeated', { idempotent: true }],
    ['of a tool that can be undone', { irreversible: false }],
  ])('%s is a failure', async (_, declared) => {
    const { world, run, keys } = await paying(hungUp(), declared)
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(keys).toHaveLength(2)
    await world.end()
  })

  test("of a tool with onError: 'failed' that says outcomeUnknown is unknown", async () => {
    const { world, keys } = await paying(Object.assign(hungUp(), { outcomeUnknown: true }), { onError: 'failed' })
    expect(keys).toHaveLength(1)
    expect(await world.sw.inbox.list()).toHaveLength(1)
    await world.end()
  })

  test('asks the probe first: its answer is the result, and no person is asked', async () => {
    const happened = await paying(hungUp(), { probe: async () => ({ outcome: 'happened', result: 'R-1' }) })
    expect(await happened.run.result()).toMatchObject({ status: 'succeeded' })
    expect(happened.keys).toHaveLength(1)
    expect(happened.evidence).toBeUndefined()
    // Why the probe was asked is on record all the same.
    expect(happened.recorded).toMatchObject([{ source: 'tool', message: 'socket hang up', code: 'ECONNRESET' }])
    await happened.world.end()

    const did_not = await paying(hungUp(), { probe: async () => ({ outcome: 'did_not' }) })
    expect(await did_not.run.result()).toMatchObject({ status: 'succeeded' })
    expect(did_not.keys).toHaveLength(2)
    const failed = did_not.runes.find((rune) => rune.kind === 'tool.result')
    expect(failed?.payload).toMatchObject({ error: 'socket hang up The probe says that it did not happen.' })
    await did_not.world.end()
  })

  test.each<[string, NonNullable<Declared['probe']>, string]>([
    ['cannot tell', async () => ({ outcome: 'cannot_tell' }), 'The probe cannot tell.'],
    ['throws', () => Promise.reject(new Error('bank is closed')), 'bank is closed'],
  ])('asks a person when the probe %s', async (_, probe, message) => {
    const { world, evidence, keys } = await paying(hungUp(), { probe })
    expect(keys).toHaveLength(1)
    expect(evidence).toMatchObject([{ source: 'tool' }, { source: 'probe', message }])
    await world.end()
  })
})

const unusableAnswers: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['5', 5],
  ['"did_not"', 'did_not'],
  ['a list', ['did_not']],
  ['a function', () => ({ outcome: 'did_not' })],
  ['an object whose outcome is undefined', {}],
  ['an object whose outcome is "maybe"', { outcome: 'maybe' }],
  ['an object whose outcome is "did_not_happen"', { outcome: 'did_not_happen' }],
  ['an object whose outcome is a list', { outcome: ['did_not'] }],
  ['an object whose outcome is "[secret:bank]"', { outcome: 'sk-very-secret-token' }],
]

describe('probe: an answer of another form', () => {
  test.each(
    unusableAnswers.flatMap(([shown, answer]) => [
      [shown, 'at once', () => answer] as const,
      [shown, 'in a promise', async () => answer] as const,
    ]),
  )('(%s, %s) is shown to a person without delay, and the action counts as unknown', async (shown, _, probe) => {
    const secrets = { bank: 'sk-very-secret-token' }
    // The clock stands still, so a question that waits for the timeout of the probe never comes.
    const { world, keys, run } = await paying(hungUp(), { probe: probe as Declared['probe'] & {} }, { secrets }, false)
    const asked = await world.until(run.sessionId, ({ kind }) => kind === 'interaction.opened')
    const message = `The probe returned ${shown}. It must return an object whose outcome is one of "happened", "did_not", "cannot_tell".`
    expect(asked.payload).toMatchObject({ evidence: [{}, { source: 'tool' }, { source: 'probe', message }] })
    expect(world.warnings).toMatchObject([{ message: 'a probe failed', details: { error: message } }])
    expect(keys).toHaveLength(1)
    await world.end()
  })
})

/** Reading anything of it throws. */
const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error('nothing to be read here')
    },
    getPrototypeOf() {
      throw new Error('nor this')
    },
  },
)

describe('F-02 unknown outcome: the evidence', () => {
  test.each<[string, unknown, string]>([
    ['an object without a prototype', Object.assign(Object.create(null), { message: 'down' }), 'down'],
    ['an object that cannot be read', unreadable, 'Something was thrown that cannot be shown.'],
    ['a symbol', Symbol('down'), 'Symbol(down)'],
    ['nothing', undefined, 'undefined'],
  ])('tells of a probe that rejects with %s, and a person is asked', async (_, thrown, message) => {
    const { world, run, evidence } = await paying(hungUp(), { probe: () => Promise.reject(thrown) })
    expect(evidence).toMatchObject([{ source: 'tool' }, { source: 'probe', message }])
    expect((await world.sw.runs.show(run.runId)).status).toBe('waiting_user')
    await world.end()
  })

  test('reaches a person, also when the function for warnings throws', async () => {
    const warn = () => {
      throw new Error('no space left for warnings')
    }
    const { world, evidence } = await paying(hungUp(), { probe: () => Promise.reject('down') }, { warn })
    expect(evidence).toMatchObject([{ source: 'tool' }, { source: 'probe', message: 'down' }])
    await world.end()
  })

  test('has message, code, causes and the answer of the other side', async () => {
    const thrown = Object.assign(new Error('refund failed', { cause: hungUp() }), {
      outcomeUnknown: true,
      response: { status: 504, data: { message: 'upstream timed out', reference: 'ZX-81' } },
    })
    const { world, evidence, recorded } = await paying(thrown)
    const expected = {
      source: 'tool',
      message: 'refund failed',
      causes: [{ message: 'socket hang up', code: 'ECONNRESET' }],
      response: { status: 504, body: '{"message":"upstream timed out","reference":"ZX-81"}' },
    }
    expect(evidence).toEqual([expected])
    expect(recorded).toEqual([expected])
    await world.end()
  })

  test('holds no registered secret, and none is torn by the limit of its size', async () => {
    const secret = 'sk-very-secret-token'
    const thrown = Object.assign(new Error(`${'x'.repeat(3_990)}${secret}`), { body: `${secret} ${'y'.repeat(9_000)}` })
    const { world, evidence } = await paying(thrown, {}, { secrets: { bank: secret } })
    const [{ message = '', response = { body: '' } } = {}] = evidence as [
      { message?: string; response?: { body: string } }?,
    ]
    expect(message.length).toBe(4_000)
    expect(response.body.length).toBe(2_000)
    expect(response.body).toMatch(/^\[secret:bank\] yyy/)
    expect(JSON.stringify(evidence)).not.toContain('sk-ver')
    await world.end()
  })

  test('is there for every thrown value', async () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('nothing to be read here')
        },
      },
    )
    const ring = new Error('ring')
    ring.cause = ring
    for (const thrown of [undefined, 0, hostile, ring, { response: { data: 10n ** 3n } }]) {
      const { world, evidence } = await paying(thrown)
      expect(evidence).toMatchObject([{ source: 'tool', message: expect.any(String) }])
      await world.end()
    }
  })

  test('survives the worker that heard it: the next one shows it', async () => {
    const probed = Promise.withResolvers<void>()
    const pay = tool({
      name: 'bank.pay',
      input,
      irreversible: true,
      approval: 'never',
      run: () => Promise.reject(new Error('bank answered 504, reference ZX-81')),
      // The worker is lost while it waits for this.
      probe: () => {
        probed.resolve()
        return new Promise<never>(() => {})
      },
    })
    const agents = (...tools: (typeof pay)[]) => ({
      worker: agent({ role: 'worker', model: scriptedModel([call('bank.pay'), say('done')]), tools }),
    })
    const store = await openStore('memory:')
    const lost = await createWorld({ agents: agents(pay), store })
    const { sessionId } = await lost.sw.runs.start({ agent: 'worker', input: 'pay' })
    await probed.promise
    const other = tool({ ...pay, probe: async () => ({ outcome: 'cannot_tell' }) })
    const world = await createWorld({ agents: agents(other), store })
    const asked = await world.until(sessionId, (rune) => rune.kind === 'interaction.opened')
    const { evidence } = asked.payload as { evidence: Json[] }
    expect(evidence).toMatchObject([
      { started_at: expect.any(Number) },
      { source: 'tool', message: 'bank answered 504, reference ZX-81' },
      { source: 'probe' },
    ])
    await world.end()
  })

  test('of a timeout says so', async () => {
    const late = await paying(undefined, { timeoutMs: 1_000, run: () => new Promise<Json>(() => {}) }, {}, false)
    await late.world.until(late.run.sessionId, (rune) => rune.kind === 'contract.moved')
    await late.world.hand.advance(1_000)
    const asked = await late.world.until(late.run.sessionId, (rune) => rune.kind === 'interaction.opened')
    expect(asked.payload).toMatchObject({
      evidence: [{}, { source: 'timeout', message: 'It took longer than 1000 ms.' }],
    })
    await late.world.end()
  })
})

test('F-88 cancel: a tool whose abort listener throws is cancelled, and the error is a warning', async () => {
  const warnings: object[] = []
  const begun = Promise.withResolvers<void>()
  const wait = tool({
    name: 'slow.wait',
    input,
    approval: 'never',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason)
          throw new Error('the listener broke')
        })
        begun.resolve()
      }),
  })
  const model = scriptedModel([call('slow.wait'), say('done')])
  const world = await createWorld({
    agents: { worker: agent({ role: 'worker', model, tools: [wait] }) },
    warn: (_, details) => void warnings.push(details),
  })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'wait' })
  await begun.promise
  await world.sw.runs.cancel(run.runId)
  expect(await run.result()).toMatchObject({ status: 'canceled' })
  expect(warnings).toMatchObject([{ error: 'the listener broke' }])
  await world.end()
})
