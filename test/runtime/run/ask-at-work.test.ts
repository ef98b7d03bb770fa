import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../../src/adapters/system/testing.ts'
import { openStore } from '../../../src/app/open-store.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import type { Asked, Tool, ToolContext } from '../../../src/runtime/tools/tool.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld, type WorldOptions } from '../../support/world.ts'

const form = { type: 'form', title: 'Which size?', fields: [{ name: 'size', type: 'number', required: true }] }
const usual = { ...form, fields: [{ name: 'size', type: 'number', required: true, default: 3 }] }

function asking(request: Json, more: Partial<Tool> = {}) {
  const heard: Asked[] = []
  const order = tool({
    name: 'shop.order',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    timeoutMs: 1_000,
    run: async (_, { ask }: ToolContext) => {
      const asked = (await ask(request)) ?? { action: 'silence' }
      heard.push(asked)
      return asked as unknown as Json
    },
    ...more,
  })
  return {
    heard,
    worker: agent({ role: 'worker', model: scriptedModel([call('shop.order'), say('done')]), tools: [order] }),
  }
}

async function worldOf(worker: ReturnType<typeof asking>['worker'], more: Partial<WorldOptions> = {}) {
  const world = await createWorld({ agents: { worker }, ...more })
  onTestFinished(() => world.end())
  return world
}

test('ask at work: the answer reaches the tool after any time, and other runs work meanwhile', async () => {
  const { worker, heard } = asking(form)
  const world = await worldOf(worker, { maxConcurrentRuns: 1 })
  const runs = [
    await world.sw.runs.start({ agent: 'worker', input: 1 }),
    await world.sw.runs.start({ agent: 'worker', input: 2 }),
  ]
  // The only slot is lent while the first run waits, or the second could not ask.
  const opened = await Promise.all(
    runs.map((run) => world.until(run.sessionId, (r) => r.kind === 'interaction.opened')),
  )
  await world.hand.advance(60_000)
  for (const { interaction_id = '' } of opened)
    await world.sw.inbox.reply(interaction_id, { reply: { action: 'approve', data: { size: 7 } } })
  for (const run of runs) {
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
  }
  expect(heard).toEqual([
    { action: 'approve', data: { size: 7 } },
    { action: 'approve', data: { size: 7 } },
  ])
})

test.each([
  ['the default', usual, { action: 'approve', data: { size: 3 }, is_default: true }],
  ['silence', form, { action: 'silence' }],
])('context.ask: without an answer in time the tool gets %s', async (_, request, expected) => {
  const { worker, heard } = asking(request)
  const world = await worldOf(worker)
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go', interactiveRequireUserReply: false })
  await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
  await world.hand.advance(15 * 60_000)
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(heard).toEqual([expected])
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
})

test('ask at work: a question that the tool does not wait for is withdrawn before its result is recorded', async () => {
  const { worker } = asking(form, {
    run: async (_: unknown, { ask }: ToolContext) => {
      void ask(form)
      return 'did not wait'
    },
  })
  const world = await worldOf(worker)
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  const kinds = (await world.runes(run.sessionId)).map((r) => r.kind)
  expect(kinds.indexOf('interaction.withdrawn')).toBeGreaterThan(kinds.indexOf('interaction.opened'))
  expect(kinds.indexOf('interaction.withdrawn')).toBeLessThan(kinds.indexOf('tool.result'))
  expect(await world.sw.inbox.list()).toEqual([])
})

test('ask at work: at a shutdown while it asks, the tool gets silence as the answer and its result is recorded', async () => {
  const { worker, heard } = asking(form)
  const world = await worldOf(worker, { store: 'sqlite' })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
  await world.restart()
  await world.until(run.sessionId, (r) => r.kind === 'run.moved' && r.to === 'succeeded')
  expect(heard).toEqual([{ action: 'silence' }])
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
})

test('ask at work: after its worker is lost, the question is withdrawn, and a person is asked for the outcome', async () => {
  const store = await openStore('memory:')
  const { worker } = asking(form)
  const lost = await worldOf(worker, { store })
  const run = await lost.sw.runs.start({ agent: 'worker', input: 'go' })
  const first = await lost.until(run.sessionId, (r) => r.kind === 'interaction.opened')

  const world = await worldOf(worker, { store })
  const settlement = await world.until(
    run.sessionId,
    (r) => r.kind === 'interaction.opened' && r.payload.interaction_kind === 'settlement',
  )
  const runes = await world.runes(run.sessionId)
  const withdrawn = runes.find((r) => r.kind === 'interaction.withdrawn')
  expect(withdrawn?.interaction_id).toBe(first.interaction_id)
  expect(await world.sw.inbox.list()).toEqual([expect.objectContaining({ interaction_id: settlement.interaction_id })])
  expect(auditRunes(runes)).toEqual([])
})

test('ask at work: its worker is lost while it asks, and it may be repeated: it asks again, and the first question goes', async () => {
  const store = await openStore('memory:')
  const { worker } = asking(form, { irreversible: false, idempotent: true })
  const lost = await worldOf(worker, { store })
  const run = await lost.sw.runs.start({ agent: 'worker', input: 'go' })
  const first = await lost.until(run.sessionId, (r) => r.kind === 'interaction.opened')

  const world = await worldOf(worker, { store })
  const again = await world.until(
    run.sessionId,
    (r) => r.kind === 'interaction.opened' && r.interaction_id !== first.interaction_id,
  )
  expect(await world.sw.inbox.list()).toEqual([expect.objectContaining({ interaction_id: again.interaction_id })])
  await world.sw.inbox.reply(again.interaction_id ?? '', { reply: { action: 'approve', data: { size: 1 } } })
  await world.until(run.sessionId, (r) => r.kind === 'run.moved' && r.to === 'succeeded')
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
})

test('ask at work: two questions at once are put one after the other, and none outlives the call', async () => {
  const { worker } = asking(form, {
    run: async (_: unknown, { ask }: ToolContext) => (await Promise.race([ask(form), ask(usual)])) as unknown as Json,
  })
  const world = await worldOf(worker, { store: 'sqlite' })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
  const [first, ...others] = await world.sw.inbox.list()
  expect(others).toEqual([])
  await world.sw.inbox.reply(first?.interaction_id ?? '', { reply: { action: 'approve', data: { size: 7 } } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(await world.sw.inbox.list()).toEqual([])
  expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
})

test('context.ask: a tool that has returned asks no more', async () => {
  const kept: ToolContext[] = []
  const { worker } = asking(form, {
    run: async (_: unknown, context: ToolContext) => {
      kept.push(context)
      return 'done'
    },
  })
  const world = await worldOf(worker)
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(await kept[0]?.ask(form)).toEqual({ action: 'silence' })
  expect(await world.sw.inbox.list()).toEqual([])
})

test('context.ask: a refused question that the tool does not await does not end the process', async () => {
  const { worker } = asking(form, {
    run: async (_: unknown, { ask }: ToolContext) => {
      void ask({ title: 'A form without fields.' })
      await drained()
      return 'did not wait'
    },
  })
  const world = await worldOf(worker)
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
})
