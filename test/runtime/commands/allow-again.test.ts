import { expect, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../../src/app/open-store.ts'
import { isFault } from '../../../src/faults/catalogue.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld, type WorldOptions } from '../../support/world.ts'

async function payments(options: Partial<WorldOptions> = {}, key_scope: 'session' | 'global' = 'session') {
  const keys: string[] = []
  const pay = tool({
    name: 'payments.pay',
    input: z.object({ order: z.int() }),
    irreversible: true,
    keyScope: key_scope,
    approval: 'never',
    run: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      return 'paid'
    },
  })
  const model = scriptedModel((_request, answered) =>
    answered % 2 === 0 ? call('payments.pay', { order: 1 }) : say('ok'),
  )
  const world = await createWorld({ agents: { payer: agent({ role: 'payer', model, tools: [pay] }) }, ...options })
  const { sessionId } = await world.sw.runs.start({ agent: 'payer', input: 'pay' })
  await world.sw.idle()
  const again = async () => {
    await world.sw.runs.start({ agent: 'payer', input: 'pay', sessionId })
    await world.sw.idle()
  }
  return { keys, world, session_id: sessionId, again }
}

test('allow again: a completed action is repeated only after a person allows it, once per permission', async () => {
  const { keys, world, session_id, again } = await payments()
  await again()
  expect(keys).toHaveLength(1)

  const opened = (await world.runes(session_id)).find((r) => r.kind === 'contract.opened')
  await world.sw.executions.allowAgain(opened?.execution_id ?? '', 'a person')
  await again()
  await again()
  expect(keys).toHaveLength(2)
  expect(new Set(keys).size).toBe(2)
  await expect(world.sw.executions.allowAgain('exe_none')).rejects.toMatchObject({ code: 'not_found' })
  await world.end()
})

test('allow again: a repeated action can itself be allowed once more', async () => {
  const { keys, world, session_id, again } = await payments()
  const last = async () => (await world.runes(session_id)).findLast((r) => r.kind === 'contract.opened')?.execution_id
  for (const times of [2, 3, 4]) {
    await world.sw.executions.allowAgain((await last()) ?? '')
    await again()
    await again()
    expect(keys).toHaveLength(times)
  }
  expect(new Set(keys).size).toBe(4)
  await world.end()
})

test.each(['memory', 'sqlite'] as const)(
  'allow again: leave for an action with a global key holds in every session, once (%s)',
  async (store) => {
    const { keys, world, session_id } = await payments({ store }, 'global')
    const elsewhere = async () => {
      const run = await world.sw.runs.start({ agent: 'payer', input: 'pay' })
      await world.sw.idle()
      return (await world.runes(run.sessionId)).find((r) => r.kind === 'contract.opened')?.execution_id ?? ''
    }
    const first = (await world.runes(session_id)).find((r) => r.kind === 'contract.opened')?.execution_id ?? ''
    await elsewhere()
    expect(keys).toHaveLength(1)

    // The session is closed and archived after that, and its leave still counts.
    await world.sw.executions.allowAgain(first, 'a person')
    await world.sw.sessions.close(session_id)
    await world.sw.sessions.archive(session_id)
    const second = await elsewhere()
    await elsewhere()
    expect(keys).toHaveLength(2)

    await world.sw.executions.allowAgain(second, 'a person')
    await elsewhere()
    await elsewhere()
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(3)
    await world.end()
  },
)

test('F-92 claims: a repetition behind a lost row is refused with the name of the earlier action', async () => {
  // GIVEN a payment that was made, in a store whose rows do not say so and whose log does
  const store = await openStore('memory:')
  let refusals = 0
  const runelog: typeof store.runelog = {
    ...store.runelog,
    row: async (model, key) => (model.name === 'claims' ? undefined : store.runelog.row(model, key)),
    async append(batch) {
      const recorded = await store.runelog.append(batch)
      if (isFault(recorded, 'key_taken')) refusals++
      return recorded
    },
  }
  const { keys, world, session_id, again } = await payments({ store: storeWith(store, { runelog }) })
  const paid = (await world.runes(session_id)).find((rune) => rune.kind === 'contract.opened')
  // WHEN it is asked for again
  await again()
  // THEN the call ends with the name of the payment, at the first refusal of the store, and the run goes on
  const runes = await world.runes(session_id)
  const denied = runes.find((rune) => rune.kind === 'tool.denied')
  expect(denied?.payload.reason).toContain(`It was already completed as ${paid?.execution_id}`)
  expect(runes.findLast((rune) => rune.kind === 'run.moved')).toMatchObject({ to: 'succeeded' })
  expect({ payments: keys.length, refusals }).toEqual({ payments: 1, refusals: 1 })
  // AND a person can still let it be done again
  await world.sw.executions.allowAgain(paid?.execution_id ?? '', 'a person')
  await again()
  expect(keys).toHaveLength(2)
  await world.end()
})
