import { expect, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../../src/adapters/system/testing.ts'
import { openStore } from '../../../src/app/open-store.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

/** A worker is lost in the middle of a payment, and the next one asks the bank, which says this. */
async function afterLoss(found: unknown) {
  const store = await openStore('memory:')
  const begun = Promise.withResolvers<void>()
  let payments = 0
  const pay = tool({
    name: 'bank.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    maxOutputBytes: 300,
    run: () => {
      payments++
      begun.resolve()
      return new Promise<Json>(() => {})
    },
    probe: async () => ({ outcome: 'happened', result: found as Json }),
  })
  const worker = agent({ role: 'worker', model: scriptedModel([call('bank.pay'), say('done')]), tools: [pay] })
  const lost = await createWorld({ agents: { worker }, store })
  const { sessionId, runId } = await lost.sw.runs.start({ agent: 'worker', input: 'pay' })
  await begun.promise

  const world = await createWorld({ agents: { worker }, store })
  const result = await (await world.sw.runs.get(runId)).result()
  const runes = await world.runes(sessionId)
  expect(payments).toBe(1)
  expect(auditRunes(runes)).toEqual([])
  await world.end()
  return { result, told: runes.find((r) => r.kind === 'tool.result')?.payload, output: world.sw.output }
}

test.each([
  ['a date', { at: new Date(0) }],
  ['a part that is undefined', { receipt: undefined }],
  ['a number that is none', Number.NaN],
])('probe: a result of %s means that it happened, and the run goes on', async (_, found) => {
  const { result, told } = await afterLoss(found)
  expect(result).toMatchObject({ status: 'succeeded' })
  expect(told).toMatchObject({ status: 'success', output: expect.stringMatching(/^The action was carried out\. /) })
})

test('probe results: a long result of a probe is cut like that of the tool, and the whole is kept', async () => {
  const whole = 'x'.repeat(10_000)
  const { told, output } = await afterLoss(whole)
  const { output: shown, output_ref } = told as { output: string; output_ref: string }
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(300)
  expect(await output(output_ref)).toBe(whole)
})

test('probe results: a tool that was given up acts while the world is asked about it: it is on record as done', async () => {
  const slow = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  const sent: string[] = []
  const send = tool({
    name: 'mail.send',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: 1_000,
    async run(_, { idempotencyKey }) {
      await slow.promise
      sent.push(idempotencyKey)
      return 'sent'
    },
    // The first answer is late: it says what was so before the tool acted.
    async probe(key) {
      const isThere = sent.includes(key)
      looked.resolve()
      slow.resolve()
      while (sent.length === 0) await drained()
      await drained()
      return isThere ? { outcome: 'happened', result: 'sent' } : { outcome: 'did_not' }
    },
  })
  const model = scriptedModel([call('mail.send'), say('done')])
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', model, tools: [send] }) } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'send' })
  await world.until(run.sessionId, (r) => r.kind === 'contract.moved' && r.to === 'running')
  await world.hand.advance(1_000)
  await looked.promise
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const runes = await world.runes(run.sessionId)
  expect(runes.find((r) => r.kind === 'tool.result')?.payload).toMatchObject({ status: 'success', output: 'sent' })
  expect(sent).toHaveLength(1)
  await world.end()
})
