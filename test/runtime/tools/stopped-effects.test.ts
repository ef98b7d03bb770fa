import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

/** The record of a tool that ends in this way after it was told to stop. */
async function toldToStop(ends: () => Json) {
  const begun = Promise.withResolvers<void>()
  const search = tool({
    name: 'files.search',
    input: z.object({}),
    approval: 'never',
    maxOutputBytes: 300,
    run: (_, { signal }) =>
      new Promise<Json>((resolve, reject) => {
        begun.resolve()
        signal.addEventListener('abort', () => {
          try {
            resolve(ends())
          } catch (error) {
            reject(error)
          }
        })
      }),
  })
  const model = scriptedModel([call('files.search'), say('done')])
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', model, tools: [search] }) } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'search' })
  await begun.promise
  await run.cancel('enough')
  expect(await run.result()).toMatchObject({ status: 'canceled' })
  const runes = await world.runes(run.sessionId)
  expect(auditRunes(runes)).toEqual([])
  const told = runes.find((r) => r.kind === 'tool.result')?.payload
  const { output_ref } = Object(told) as { output_ref?: string }
  const output = output_ref === undefined ? undefined : await world.sw.output(output_ref)
  await world.end()
  return { told, output }
}

test('stopped effects: the whole of a long output is still found when the run was cancelled meanwhile', async () => {
  const whole = 'found '.repeat(1_000)
  const { told, output } = await toldToStop(() => whole)
  expect(told).toMatchObject({ status: 'success', duration_ms: 0 })
  expect(output).toBe(whole)
})

test('stopped effects: a sandbox violation is recorded as one when the run was cancelled meanwhile', async () => {
  const { told } = await toldToStop(() => {
    throw Object.assign(new Error('It is outside.'), { sandboxViolation: true })
  })
  expect(told).toMatchObject({ status: 'sandbox_violation', error: 'It is outside.' })
})
