import { expect, test } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../../src/app/open-store.ts'
import { DidNotHappen } from '../../../src/index.ts'
import { claims } from '../../../src/runelog/models.ts'
import type { Runelog } from '../../../src/runelog/port.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

/** The keys of the contracts that two agents of a session ask the log to open for one payment, while no row holds a key. */
async function openings(pay: () => string) {
  const store = await openStore('memory:')
  const opened: (string | null)[] = []
  const runelog: Runelog = {
    ...store.runelog,
    row: async (model, key) => (model.name === claims.name ? undefined : store.runelog.row(model, key)),
    append(batch) {
      for (const { kind, payload } of batch.runes)
        if (kind === 'contract.opened') opened.push((payload as { idempotency_key: string | null }).idempotency_key)
      return store.runelog.append(batch)
    },
  }
  const bank = tool({ name: 'bank.pay', input: z.object({}), irreversible: true, approval: 'never', run: pay })
  const payer = () => agent({ role: 'worker', model: scriptedModel([call('bank.pay'), say('done')]), tools: [bank] })
  const world = await createWorld({
    agents: { first: payer(), second: payer() },
    store: storeWith(store, { runelog }),
  })
  const { sessionId } = await world.sw.runs.start({ agent: 'first', input: 'pay' })
  await world.sw.idle()
  const run = await world.sw.runs.start({ agent: 'second', input: 'pay', sessionId })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  await world.end()
  return opened
}

test('idempotency keys: a key of a call with an unknown outcome is taken in its session, whatever the rows say', async () => {
  const hungUp = () => {
    throw new Error('socket hang up')
  }
  expect(await openings(hungUp)).toHaveLength(1)
})

test('idempotency keys: a key of a call that did not happen is free in its session', async () => {
  let calls = 0
  const opened = await openings(() => {
    if (++calls === 1) throw new DidNotHappen('card declined')
    return 'paid'
  })
  expect(opened).toHaveLength(2)
  expect(new Set(opened).size).toBe(1)
})
