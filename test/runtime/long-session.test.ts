import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { foldSession, newSessionState } from '../../src/observation/fold-session.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../support/world.ts'

const refund = tool({
  name: 'payments.refund',
  input: z.object({ order: z.string() }),
  irreversible: true,
  approval: 'never',
  run: ({ order }) => ({ refund: `r-${order}` }),
})

test('long session: a lookup does not read the whole log', async () => {
  const pay = () => call('payments.refund', { order: 'a' })
  const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })
  const payer = agent({
    role: 'payer',
    model: scriptedModel([pay(), say('Paid.'), pay(), say('Told.')]),
    tools: [refund],
  })
  const asker = agent({ role: 'asker', model: scriptedModel([form, say('Thanks.'), form, say('Thanks.')]) })
  const talker = agent({ role: 'talker', model: scriptedModel(() => say('Yes.')) })
  const { sw, end, runes } = await createWorld({ agents: { payer, asker, talker } })
  const { sessionId } = await sw.sessions.create({ agent: 'talker' })
  const go = async (agent: string) => {
    const run = await sw.runs.start({ agent, input: 'Go.', sessionId })
    await sw.idle()
    return run
  }
  // GIVEN a session in which much was said before someone was paid and someone was asked
  for (let n = 0; n < 300; n++) await go('talker')
  await go('payer')
  await go('asker')

  const read = vi.spyOn(sw.runelog, 'read')
  const cost = async (what: () => Promise<unknown>) => {
    read.mockClear()
    await what()
    const pages = await Promise.all(read.mock.results.map(({ value }) => value as Promise<readonly unknown[]>))
    return pages.reduce((sum, page) => sum + page.length, 0)
  }
  const length = (await runes(sessionId)).length
  expect(length).toBeGreaterThan(1_500)
  const asked = (await runes(sessionId)).find((rune) => rune.kind === 'interaction.opened')
  const { interaction_id = '', execution_id = '' } = { ...asked }
  const given = { reply: { action: 'approve', data: { choice: 'red' } }, idempotencyKey: 'k' }

  // WHEN the person answers it by its contract, answers it again, and too late
  const few = 400
  expect(await cost(() => sw.executions.resume(execution_id, given))).toBeLessThan(few)
  await sw.idle()
  expect(await cost(() => sw.inbox.reply(interaction_id, given))).toBeLessThan(few)
  expect(
    await cost(() =>
      expect(sw.inbox.reply(interaction_id, { reply: {} })).rejects.toMatchObject({ code: 'interaction_closed' }),
    ),
  ).toBeLessThan(few)

  // AND the model wants to pay twice, and is allowed to the next time
  expect(await cost(() => go('payer'))).toBeLessThan(few)
  const denied = (await runes(sessionId)).filter((rune) => rune.kind === 'tool.denied')
  expect(denied).toMatchObject([{ payload: { reason: expect.stringContaining('with the result {"refund":"r-a"}') } }])
  const paid = (await runes(sessionId)).find((rune) => rune.kind === 'contract.opened')
  expect(await cost(() => sw.executions.allowAgain(paid?.execution_id ?? ''))).toBeLessThan(few)
  await end()
})

test('fold: answered questions and settled outcomes are dropped', async () => {
  const form = (title: string) => ({ type: 'form', title, fields: [{ name: 'choice', required: true }] })
  const curious = tool({
    name: 'curious.work',
    input: z.object({}),
    approval: 'always',
    run: async (_, { ask }) => [await ask(form('First?')), await ask(form('Second?'))] as never,
  })
  const lost = tool({
    name: 'lost.work',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: 10,
    run: () => new Promise<never>(() => {}),
  })
  const asker = agent({
    role: 'asker',
    model: scriptedModel([call('curious.work', {}), say('Done.')]),
    tools: [curious],
  })
  const loser = agent({ role: 'loser', model: scriptedModel([call('lost.work', {}), say('Done.')]), tools: [lost] })
  const { sw, end, runes, until, hand } = await createWorld({ agents: { asker, loser } })
  const run = await sw.runs.start({ agent: 'asker', input: 'Go.' })
  const { sessionId } = run
  const given = { action: 'approve', data: { choice: 'red' } }
  const seen = new Set<string | undefined>()
  for (const reply of [{ decision: 'approve' }, given, given]) {
    const { interaction_id = '' } = await until(
      sessionId,
      (rune) => rune.kind === 'interaction.opened' && !seen.has(rune.interaction_id),
    )
    seen.add(interaction_id)
    await sw.inbox.reply(interaction_id, { reply })
  }
  await run.result()
  const unknown = await sw.runs.start({ agent: 'loser', input: 'Go.', sessionId, mode: 'auto' })
  await until(sessionId, (rune) => rune.kind === 'contract.moved' && rune.run_id === unknown.runId)
  await hand.advance(10)
  await unknown.result()
  const [settlement] = await sw.inbox.list()
  await hand.advance(24 * 60 * 60_000)
  await sw.inbox.reply(settlement?.interaction_id ?? '', { reply: { outcome: 'happened' } })

  const state = newSessionState(sessionId)
  for (const rune of await runes(sessionId)) foldSession(state, rune)
  expect([...state.calls, ...state.interactions, ...state.turns]).toEqual([])
  expect(new Set([...state.subjects.values()].map(({ machine }) => machine))).toEqual(
    new Set(['session', 'agent', 'run']),
  )
  await end()
})
