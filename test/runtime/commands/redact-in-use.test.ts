import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../../src/app/open-store.ts'
import type { Json } from '../../../src/kernel/json.ts'
import type { Runelog } from '../../../src/runelog/port.ts'
import { erasedPayload } from '../../../src/runes/erasure.ts'
import type { Kind } from '../../../src/runes/kinds.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld, type World, type WorldOptions } from '../../support/world.ts'

let world: World
afterEach(() => world.end())

const input = z.strictObject({ n: z.int() })
type Flags = Partial<Record<'irreversible' | 'idempotent' | 'readOnly', true>> & {
  readonly approval?: 'always' | 'never'
}

/** An agent that pays once. It keeps what it was paid with, and how often its model was asked. */
function payer(flags: Flags, run: () => Promise<Json> | Json = () => 'paid') {
  const paid: unknown[] = []
  const asked: string[] = []
  const pay = tool({
    name: 'bank.pay',
    input,
    ...flags,
    run(args) {
      paid.push(args)
      return run()
    },
  })
  const model = scriptedModel((messages, said) => {
    asked.push(JSON.stringify(messages))
    return said === 0 ? call('bank.pay', { n: 42 }) : say('done')
  })
  return { paid, asked, agents: { a: agent({ role: 'a', model, tools: [pay] }) } }
}

const eventOf = (runes: readonly Rune[], kind: Kind) => runes.findLast((rune) => rune.kind === kind)?.event_id ?? 0

describe('redact: content that unfinished work needs is refused', () => {
  test.each(['memory', 'sqlite'] as const)('the arguments of a call that waits for approval (%s)', async (store) => {
    const { paid, agents } = payer({ irreversible: true, approval: 'always' })
    world = await createWorld({ store, agents })
    const { sessionId, runId, result } = await world.sw.runs.start({ agent: 'a', input: 'go' })
    await world.sw.idle()
    const runes = await world.runes(sessionId)
    for (const kind of ['tool.call', 'contract.opened', 'interaction.opened'] as const)
      await expect(world.sw.sessions.redact(sessionId, eventOf(runes, kind), 'private'), kind).rejects.toMatchObject({
        code: 'content_in_use',
        details: { what: 'call', id: runes.find((r) => r.kind === 'tool.call')?.call_id, run_id: runId },
        message: expect.stringContaining(`cancel ${runId}`),
      })
    expect(await world.runes(sessionId)).toEqual(runes)

    const [asked] = await world.sw.inbox.list()
    await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })
    expect(await result()).toMatchObject({ status: 'succeeded' })
    expect(paid).toEqual([{ n: 42 }])
    await world.sw.idle()
    await world.sw.sessions.redact(sessionId, eventOf(runes, 'tool.call'), 'private')
  })

  test('a cancelled run gives its content free', async () => {
    const { agents } = payer({ irreversible: true, approval: 'always' })
    world = await createWorld({ agents })
    const { sessionId, runId } = await world.sw.runs.start({ agent: 'a', input: 'go' })
    await world.sw.idle()
    const event_id = eventOf(await world.runes(sessionId), 'tool.call')
    await world.sw.runs.cancel(runId)
    await world.sw.sessions.redact(sessionId, event_id, 'private')
    expect((await world.runes(sessionId))[event_id - 1]).toMatchObject({ redacted: true })
  })

  test('the arguments of a call that a lost worker began, and the answer to its approval', async () => {
    const { paid, agents } = payer(
      { irreversible: true, approval: 'always', idempotent: true },
      () => new Promise(() => {}),
    )
    const store = await openStore('memory:')
    world = await createWorld({ store: storeWith(store, { isExclusive: false }), agents })
    const { sessionId } = await world.sw.runs.start({ agent: 'a', input: 'go' })
    await world.sw.idle()
    const [asked] = await world.sw.inbox.list()
    await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })
    await world.until(sessionId, ({ kind }) => kind === 'tool.approved')
    const runes = await world.runes(sessionId)
    // Another process, while the first one is as good as dead: it never comes back from its tool.
    const program = await world.revive({ maxConcurrentRuns: 0 })
    for (const kind of ['tool.call', 'interaction.answered'] as const)
      await expect(program.sessions.redact(sessionId, eventOf(runes, kind), 'private'), kind).rejects.toMatchObject({
        code: 'content_in_use',
      })
    expect(paid).toEqual([{ n: 42 }])
  })

  test('the input of a queued run and a steer, until the agent has answered', async () => {
    const { asked, agents } = payer({ approval: 'always' })
    const store = await openStore('memory:')
    world = await createWorld({ store, agents, maxConcurrentRuns: 0 })
    const { sessionId, ...run } = await world.sw.runs.start({ agent: 'a', input: 'my wish' })
    const submitted = eventOf(await world.runes(sessionId), 'run.submitted')
    const refused = { code: 'content_in_use', details: { what: 'run', id: run.runId } }
    await expect(world.sw.sessions.redact(sessionId, submitted, 'private')).rejects.toMatchObject(refused)
    await world.restart({ maxConcurrentRuns: 1 })
    await world.sw.idle()
    await world.sw.sessions.redact(sessionId, submitted, 'private')

    await world.sw.runs.steer(run.runId, 'another wish')
    const steered = eventOf(await world.runes(sessionId), 'run.requested')
    await expect(world.sw.sessions.redact(sessionId, steered, 'private')).rejects.toMatchObject(refused)
    const [question] = await world.sw.inbox.list()
    await world.sw.inbox.reply(question?.interaction_id ?? '', { reply: { decision: 'deny' } })
    await world.until(sessionId, (r) => r.kind === 'run.moved' && r.to === 'succeeded')
    expect(asked.at(-1)).toContain('another wish')
    await world.sw.sessions.redact(sessionId, steered, 'private')
  })
})

/** As `redact` of an earlier version left the log: runes of this kind are erased for all that read it from now on. */
function erasing(runelog: Runelog, kind: Kind): Runelog {
  const erased = (rune: Rune): Rune =>
    rune.kind === kind
      ? ({
          ...rune,
          payload: erasedPayload(kind, rune.payload as Readonly<Record<string, Json>>),
          redacted: true,
        } as Rune)
      : rune
  return { ...runelog, read: async (...asked) => (await runelog.read(...asked)).map(erased) }
}

describe('redact: content that was erased before it was used', () => {
  async function begin(options: Pick<WorldOptions, 'agents'>) {
    const store = { ...(await openStore('memory:')), isExclusive: false }
    world = await createWorld({ store, ...options })
    const run = await world.sw.runs.start({ agent: 'a', input: 'my wish' })
    return {
      ...run,
      /** Another process begins, which finds runes of this kind erased. */
      erase: (kind: Kind) => world.revive({ store: storeWith(store, { runelog: erasing(store.runelog, kind) }) }),
    }
  }

  test('an approved call without its arguments is not run, and the model gets the reason', async () => {
    const { paid, agents } = payer({ irreversible: true, approval: 'always' })
    const { sessionId, runId, erase } = await begin({ agents })
    await world.sw.idle()
    await world.sw.close()
    await erase('tool.call')
    const [asked] = await world.sw.inbox.list()
    await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })
    const ended = await world.until(sessionId, (r) => r.kind === 'contract.moved' && r.to === 'rejected')
    expect(ended.payload).toMatchObject({
      error_message: expect.stringContaining('The arguments of bank.pay were redacted.'),
    })
    await world.sw.idle()
    expect((await world.sw.runs.show(runId)).status).toBe('succeeded')
    expect(paid).toEqual([])
  })

  test.each([
    ['irreversible', { irreversible: true, idempotent: true, approval: 'never' }, 'waiting'],
    ['read-only', { readOnly: true }, 'failed'],
  ] as const)('a begun call that is %s is not repeated without its arguments', async (_, flags, status) => {
    const { paid, agents } = payer(flags, () => new Promise(() => {}))
    const { sessionId, erase } = await begin({ agents })
    await world.until(sessionId, ({ kind }) => kind === 'tool.moved')
    const lost = world.sw
    world.hand.advance(600_000)
    await erase('tool.call')
    const ended = await world.until(sessionId, (r) => r.kind === 'contract.moved' && r.to === status)
    const log = JSON.stringify(await world.runes(sessionId))
    expect(log).toContain('The arguments of bank.pay were redacted.')
    expect(ended.payload).toMatchObject(status === 'waiting' ? { reason: 'outcome_unknown' } : {})
    expect(paid).toEqual([{ n: 42 }])
    await lost.close()
  })

  test('an erased answer is no approval', async () => {
    const { paid, agents } = payer({ irreversible: true, approval: 'always' })
    const { sessionId, erase } = await begin({ agents })
    await world.sw.idle()
    await world.sw.sessions.pause(sessionId)
    const [asked] = await world.sw.inbox.list()
    await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'deny' } })
    await world.sw.close()
    await erase('interaction.answered')
    await world.sw.sessions.resume(sessionId)
    await world.until(sessionId, (r) => r.kind === 'contract.moved' && r.to === 'rejected')
    expect(paid).toEqual([])
  })

  test('a run whose input is erased fails, and no model is asked', async () => {
    const { asked, agents } = payer({})
    const store = { ...(await openStore('memory:')), isExclusive: false }
    world = await createWorld({ store, agents, maxConcurrentRuns: 0 })
    const { sessionId, runId } = await world.sw.runs.start({ agent: 'a', input: 'my wish' })
    await world.sw.close()
    await world.revive({
      store: storeWith(store, { runelog: erasing(store.runelog, 'run.submitted') }),
      maxConcurrentRuns: 1,
    })
    await world.until(sessionId, (r) => r.kind === 'run.moved' && r.to === 'failed')
    expect(await world.sw.runs.show(runId)).toMatchObject({ error_code: 'INPUT_REDACTED' })
    expect(asked).toEqual([])
  })
})
