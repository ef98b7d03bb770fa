import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/agents/define-agent.ts'
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

test('what is looked for in a long session is found without reading the whole of it', async () => {
  const pay = () => call('payments.refund', { order: 'a' })
  const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })
  const payer = agent({
    role: 'payer',
    model: scriptedModel([pay(), say('Paid.'), pay(), say('Told.')]),
    tools: [refund],
  })
  const asker = agent({ role: 'asker', model: scriptedModel([form, say('Thanks.'), form, say('Thanks.')]) })
  const talker = agent({ role: 'talker', model: scriptedModel([say('Yes.')]) })
  const { sw, end, runes } = await createWorld({ agents: { payer, asker, talker } })
  const session_id = await sw.createSession({ agent: 'talker' })
  const go = async (agent: string) => {
    const run = await sw.submit({ agent, input: 'Go.', session_id })
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
  const length = (await runes(session_id)).length
  expect(length).toBeGreaterThan(1_500)
  const asked = (await runes(session_id)).find((rune) => rune.kind === 'interaction.opened')
  const { interaction_id = '', execution_id = '' } = { ...asked }
  const given = { reply: { action: 'approve', data: { choice: 'red' } }, idempotency_key: 'k' }

  // WHEN the person answers it by its contract, answers it again, and too late
  const few = 400
  expect(await cost(() => sw.resume(execution_id, given))).toBeLessThan(few)
  await sw.idle()
  expect(await cost(() => sw.reply(interaction_id, given))).toBeLessThan(few)
  expect(
    await cost(() =>
      expect(sw.reply(interaction_id, { reply: {} })).rejects.toMatchObject({ code: 'interaction_closed' }),
    ),
  ).toBeLessThan(few)

  // AND the model wants to pay twice, and is allowed to the next time
  expect(await cost(() => go('payer'))).toBeLessThan(few)
  const denied = (await runes(session_id)).filter((rune) => rune.kind === 'tool.denied')
  expect(denied).toMatchObject([{ payload: { reason: expect.stringContaining('with the result {"refund":"r-a"}') } }])
  const paid = (await runes(session_id)).find((rune) => rune.kind === 'contract.opened')
  expect(await cost(() => sw.allowAgain(paid?.execution_id ?? ''))).toBeLessThan(few)
  await end()
})
