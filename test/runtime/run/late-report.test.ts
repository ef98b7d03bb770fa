import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../../src/adapters/system/testing.ts'
import { openStore } from '../../../src/app/open-store.ts'
import { faults } from '../../../src/faults/catalogue.ts'
import type { Fault } from '../../../src/faults/fault.ts'
import { DidNotHappen } from '../../../src/index.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { cardOf } from '../../../src/surface/cards.ts'
import { createSessionViews } from '../../../src/surface/session-views.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld, type World, type WorldOptions } from '../../support/world.ts'

const timeout_ms = 1_000

/** An agent pays; the bank answers when the test says so, however long ago the tool was given up. */
async function paying(options: Partial<WorldOptions> = {}, answer?: (signal: AbortSignal) => Promise<Json>) {
  const bank = Promise.withResolvers<Json>()
  let starts = 0
  const pay = tool({
    name: 'bank.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: timeout_ms,
    run(_, { signal }) {
      starts++
      return answer?.(signal) ?? bank.promise
    },
  })
  const model = scriptedModel([call('bank.pay'), call('bank.pay'), say('done')])
  const agents = { worker: agent({ role: 'worker', model, tools: [pay] }) }
  const world = await createWorld({ agents, ...options })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'pay' })
  await world.until(run.sessionId, (rune) => rune.kind === 'contract.moved' && rune.to === 'running')
  const reported = () =>
    world.until(run.sessionId, (rune) => rune.kind === 'contract.evidence_added' && 'reported' in rune.payload)
  const question = async () => {
    const opened = await world.until(run.sessionId, (rune) => rune.kind === 'interaction.opened')
    return opened.interaction_id ?? ''
  }
  return { world, run, bank, starts: () => starts, reported, question }
}

async function givenUp(...given: Parameters<typeof paying>) {
  const parts = await paying(...given)
  await parts.world.hand.advance(timeout_ms)
  const interaction_id = await parts.question()
  await parts.world.sw.idle()
  return { ...parts, interaction_id }
}

const done = {
  source: 'tool',
  message: 'The tool returned after it was given up.',
  reported: 'done',
  result: { receipt: 'R-1' },
}

/** Why "it did not happen" is refused, if it is. A tool is at work until its report is on record. */
async function refusal(world: World, interaction_id: string): Promise<Fault | undefined> {
  for (;;) {
    const fault = await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'did_not' } }).then(
      () => undefined,
      (error: Fault) => error,
    )
    if (fault?.code !== 'too_early') return fault
    await drained()
  }
}

describe('F-02 late report: a tool that returns after it was given up', () => {
  test('is on record as done, with its result, and the question shows it', async () => {
    const { world, run, bank, reported, interaction_id } = await givenUp()
    bank.resolve({ receipt: 'R-1' })
    expect((await reported()).payload).toEqual(done)
    const { evidence } = await world.sw.inbox.get(interaction_id)
    expect(evidence).toEqual([{ started_at: expect.any(Number) }, expect.objectContaining({ source: 'timeout' }), done])
    const views = createSessionViews(world.sw.runelog, true)
    expect(cardOf(await views.of(run.sessionId), interaction_id).evidence).toEqual(evidence)
    expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
    await world.end()
  })

  test('cannot be said not to have happened, also by the next process on SQLite', async () => {
    const { world, bank, reported, starts, interaction_id } = await givenUp({ store: 'sqlite' })
    bank.resolve({ receipt: 'R-1' })
    await reported()
    const refused = { code: 'reply_unfit', message: expect.stringContaining('says that it was done') }
    expect(await refusal(world, interaction_id)).toMatchObject(refused)
    await world.restart()
    expect(await refusal(world, interaction_id)).toMatchObject(refused)
    expect((await world.sw.inbox.get(interaction_id)).evidence.at(-1)).toEqual(done)
    expect(starts()).toBe(1)
    await world.end()
  })

  test.each<[string, { result?: Json }, Json]>([
    ['without a result, gives its own', {}, { receipt: 'R-1' }],
    ['with a result, has that one', { result: 'R-2' }, 'R-2'],
    ['with the result null, has that one', { result: null }, null],
  ])('settled as happened %s', async (_, said, output) => {
    const { world, run, bank, reported, interaction_id } = await givenUp()
    bank.resolve({ receipt: 'R-1' })
    await reported()
    await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened', ...said } })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const told = (await world.runes(run.sessionId)).find((rune) => rune.kind === 'tool.result')
    expect(told?.payload).toMatchObject({ status: 'success', output })
    await world.end()
  })

  test('holds no registered secret', async () => {
    const secret = 'sk-very-secret-token'
    const { world, bank, reported } = await givenUp({ secrets: { bank: secret } })
    bank.resolve({ receipt: `R-1 ${secret}` })
    expect((await reported()).payload).toMatchObject({ result: { receipt: 'R-1 [secret:bank]' } })
    await world.end()
  })

  test('in the moment of its timeout is on record as done', async () => {
    const paid = (signal: AbortSignal) =>
      new Promise<Json>((resolve) => signal.addEventListener('abort', () => resolve('paid')))
    const { world, reported, starts, interaction_id } = await givenUp({}, paid)
    await reported()
    expect(await refusal(world, interaction_id)).toMatchObject({ code: 'reply_unfit' })
    expect((await world.sw.inbox.get(interaction_id)).evidence).toContainEqual({ ...done, result: 'paid' })
    expect(starts()).toBe(1)
    await world.end()
  })
})

describe('F-02 late report: a tool that throws after it was given up', () => {
  test.each<[string, Error, string]>([
    ['says what it threw', new Error('bank answered 504'), 'failed'],
    ['says that it did not happen', new DidNotHappen('bank answered 504'), 'did_not_happen'],
  ])('%s', async (_, thrown, says) => {
    const { world, bank, reported, starts, interaction_id } = await givenUp()
    bank.reject(thrown)
    const said = { source: 'tool', message: 'bank answered 504', reported: says }
    expect((await reported()).payload).toMatchObject(said)
    expect((await world.sw.inbox.get(interaction_id)).evidence.at(-1)).toMatchObject(said)
    // A person who has looked may say that it did not happen: the tool does not contradict.
    expect(await refusal(world, interaction_id)).toBeUndefined()
    await expect.poll(starts).toBe(2)
    await world.end()
  })
})

describe('F-02 unknown outcome: a tool that outlives a cancel', () => {
  const cancelled = {
    source: 'cancel',
    message: 'The run was cancelled and the tool did not end within 100 ms.',
  }
  const patience: Partial<WorldOptions> = { settings: { cancelGraceMs: 100 } }

  test('leaves a question that says why, and a later report of the tool is added', async () => {
    const { world, run, bank, reported, question } = await paying(patience)
    await run.cancel('changed my mind')
    await world.hand.advance(100)
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    const interaction_id = await question()
    const began = { started_at: expect.any(Number) }
    expect((await world.sw.inbox.get(interaction_id)).evidence).toEqual([began, cancelled])
    bank.resolve({ receipt: 'R-1' })
    await reported()
    expect((await world.sw.inbox.get(interaction_id)).evidence).toEqual([began, cancelled, done])
    expect(await refusal(world, interaction_id)).toMatchObject({ code: 'reply_unfit' })
    await world.end()
  })

  test('and its session: the report reaches the sealed log', async () => {
    const { world, run, bank, reported, question } = await paying(patience)
    const closing = world.sw.sessions.close(run.sessionId, 'bye')
    const interaction = question()
    await world.until(run.sessionId, (rune) => rune.kind === 'run.requested')
    await world.hand.advance(100)
    await closing
    const interaction_id = await interaction
    expect((await world.sw.inbox.get(interaction_id)).evidence).toContainEqual(cancelled)
    bank.resolve({ receipt: 'R-1' })
    await reported()
    expect(await refusal(world, interaction_id)).toMatchObject({ code: 'reply_unfit' })
    await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened' } })
    const last = (await world.runes(run.sessionId)).findLast((rune) => rune.kind === 'contract.moved')
    expect(last).toMatchObject({ to: 'completed', payload: { result: { receipt: 'R-1' } } })
    await world.end()
  })
})

test('F-107 late report: a report that cannot be recorded is retried, and then "did not happen" is answered', async () => {
  // GIVEN a store that refuses the report twice
  const store = await openStore('memory:')
  let refusals = 0
  const runelog: typeof store.runelog = {
    ...store.runelog,
    async append(batch) {
      const isReport = batch.runes.some(
        ({ kind, payload }) => kind === 'contract.evidence_added' && 'reported' in payload,
      )
      if (isReport && refusals++ < 2) throw faults.store_unreachable({ store: 'memory:', cause: 'a test' })
      return store.runelog.append(batch)
    },
  }
  const { world, bank, interaction_id } = await givenUp({ store: storeWith(store, { runelog }) })
  const didNot = () => world.sw.inbox.reply(interaction_id, { reply: { outcome: 'did_not' } })
  // WHEN the tool says that it did not happen
  bank.reject(new DidNotHappen('The bank was closed.'))
  await expect.poll(() => refusals).toBe(1)
  // THEN it counts as at work until that is on record
  await expect(didNot()).rejects.toMatchObject({ code: 'too_early' })
  await world.hand.advance(100)
  await expect.poll(() => refusals).toBe(2)
  await expect(didNot()).rejects.toMatchObject({ code: 'too_early' })
  await world.hand.advance(200)
  expect(await refusal(world, interaction_id)).toBeUndefined()
  expect(refusals).toBe(3)
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
