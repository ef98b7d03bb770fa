import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/agents/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../support/world.ts'

async function payments() {
  const keys: string[] = []
  const pay = tool({
    name: 'payments.pay',
    input: z.object({ order: z.int() }),
    irreversible: true,
    approval: 'never',
    run: (_, { idempotency_key }) => {
      keys.push(idempotency_key)
      return 'paid'
    },
  })
  const model = scriptedModel((_request, answered) =>
    answered % 2 === 0 ? call('payments.pay', { order: 1 }) : say('ok'),
  )
  const world = await createWorld({ agents: { payer: agent({ role: 'payer', model, tools: [pay] }) } })
  const { session_id } = await world.sw.submit({ agent: 'payer', input: 'pay' })
  await world.sw.idle()
  const again = async () => {
    await world.sw.submit({ agent: 'payer', input: 'pay', session_id })
    await world.sw.idle()
  }
  return { keys, world, session_id, again }
}

test('what was done is done again only by leave of a person, and once per leave', async () => {
  const { keys, world, session_id, again } = await payments()
  await again()
  expect(keys).toHaveLength(1)

  const opened = (await world.runes(session_id)).find((r) => r.kind === 'contract.opened')
  await world.sw.allowAgain(opened?.execution_id ?? '', 'a person')
  await again()
  await again()
  expect(keys).toHaveLength(2)
  expect(new Set(keys).size).toBe(2)
  await expect(world.sw.allowAgain('exe_none')).rejects.toMatchObject({ code: 'not_found' })
  await world.end()
})

test('what was done again by leave of a person is done once more by leave to repeat that one', async () => {
  const { keys, world, session_id, again } = await payments()
  const last = async () => (await world.runes(session_id)).findLast((r) => r.kind === 'contract.opened')?.execution_id
  for (const times of [2, 3, 4]) {
    await world.sw.allowAgain((await last()) ?? '')
    await again()
    await again()
    expect(keys).toHaveLength(times)
  }
  expect(new Set(keys).size).toBe(4)
  await world.end()
})
