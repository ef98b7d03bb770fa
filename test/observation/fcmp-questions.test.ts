import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/kernel/json.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import { ask, call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Tool, ToolContext } from '../../src/runtime/tools/tool.ts'
import { runHistory } from '../../src/surface/operations/runs.ts'
import { createBackendWorld } from '../support/backend.ts'
import type { WorldOptions } from '../support/world.ts'

const form = { type: 'form', title: 'Which size?', fields: [{ name: 'size', type: 'number', required: true }] }
const size = { action: 'approve', data: { size: 7 } }

const asksAtWork: Tool = tool({
  name: 'shop.order',
  input: z.object({}),
  idempotent: true,
  approval: 'never',
  run: async (_, { ask: question }: ToolContext) => ((await question?.(form)) ?? null) as Json,
})

async function open(script: readonly Scripted[], options: Partial<WorldOptions> & { tools?: readonly Tool[] } = {}) {
  const { tools = [], ...more } = options
  const main: Agent = agent({ role: 'worker', model: scriptedModel(script), tools: [...tools] })
  const { world, client } = await createBackendWorld({ main }, more)
  onTestFinished(() => world.end())
  const history = async (run_id: string) => (await client.call(runHistory, { params: { run_id } })).items
  /** The type and the question of each event, or the move. */
  const shapes = async (run_id: string) =>
    (await history(run_id)).map(({ type, data }) => {
      const of = Object(data) as Record<string, string>
      return type === 'conversation.state.changed'
        ? `${of.from} → ${of.to}`
        : [type, of.interaction_id, of.resolution_mode].filter((part) => part !== undefined).join(' ')
    })
  return { world, history, shapes }
}

test('F-22 FCMP: a reply that is accepted while the run is queued closes its question in the stream', async () => {
  const { world, history, shapes } = await open([together(ask(form), ask(form)), say('Done.')])
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await world.sw.idle()
  const [one = '', two = ''] = (await world.sw.inbox.list()).map(({ interaction_id }) => interaction_id)
  // No worker takes the run between the two replies.
  await world.sw.sessions.pause(run.sessionId, 'wait')
  await world.sw.inbox.reply(one, { reply: size })
  await world.sw.inbox.reply(two, { reply: size })
  expect((await shapes(run.runId)).slice(-3)).toEqual([
    `interaction.reply.accepted ${one} user_reply`,
    'waiting_user → queued',
    `interaction.reply.accepted ${two} user_reply`,
  ])
  await world.sw.sessions.resume(run.sessionId)
  await run.result()
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'succeeded' })).toEqual([])
})

test('F-22 FCMP: a question that a tool asks at work is opened in the stream, and its answer closes it', async () => {
  const { world, history, shapes } = await open([call('shop.order'), say('Done.')], { tools: [asksAtWork] })
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  const { interaction_id = '' } = await world.until(run.sessionId, (rune) => rune.kind === 'interaction.opened')
  expect((await shapes(run.runId)).at(-1)).toBe(`user.input.required ${interaction_id}`)
  await world.sw.inbox.reply(interaction_id, { reply: size })
  await run.result()
  expect(await shapes(run.runId)).toEqual([
    'queued → running',
    `user.input.required ${interaction_id}`,
    `interaction.reply.accepted ${interaction_id} user_reply`,
    'assistant.message.final',
    'running → succeeded',
  ])
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'succeeded' })).toEqual([])
})

test('F-22 FCMP: the timeout of a question asked at work closes it in the stream', async () => {
  const { world, history, shapes } = await open([call('shop.order'), say('Done.')], { tools: [asksAtWork] })
  const run = await world.sw.runs.start({ agent: 'main', input: 'go', interactiveRequireUserReply: false })
  const { interaction_id } = await world.until(run.sessionId, (rune) => rune.kind === 'interaction.opened')
  await world.hand.advance(15 * 60_000)
  await run.result()
  expect(await shapes(run.runId)).toContain(`interaction.auto_decide.timeout ${interaction_id} auto_decide_timeout`)
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'succeeded' })).toEqual([])
})

test('F-22 FCMP: a question that a tool does not wait for is closed as withdrawn', async () => {
  const hasty = tool({
    name: 'shop.order',
    input: z.object({}),
    idempotent: true,
    approval: 'never',
    run: async (_, { ask: question }: ToolContext) => {
      void question?.(form)
      return 'did not wait'
    },
  })
  const { world, history, shapes } = await open([call('shop.order'), say('Done.')], { tools: [hasty] })
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await run.result()
  const { interaction_id } = await world.until(run.sessionId, (rune) => rune.kind === 'interaction.opened')
  expect(await shapes(run.runId)).toEqual([
    'queued → running',
    `user.input.required ${interaction_id}`,
    `interaction.closed ${interaction_id} withdrawn`,
    'assistant.message.final',
    'running → succeeded',
  ])
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'succeeded' })).toEqual([])
})

test('F-22 FCMP: a cancel closes every open question before the run ends', async () => {
  const { world, history, shapes } = await open([together(ask(form), ask(form))])
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await world.sw.idle()
  const asked = (await world.sw.inbox.list()).map(({ interaction_id }) => interaction_id)
  await run.cancel('enough')
  expect((await shapes(run.runId)).slice(-3)).toEqual([
    ...asked.map((id) => `interaction.closed ${id} withdrawn`),
    'waiting_user → canceled',
  ])
  const closed = (await history(run.runId)).at(-2)
  expect(closed).toMatchObject({ data: { reason: 'enough', closed_at: closed?.ts } })
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'canceled' })).toEqual([])
})

test('F-22 FCMP: a question that outlives its run is closed in the stream and stays in the inbox', async () => {
  const pay = tool({
    name: 'payments.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    run: () => {
      throw new Error('The line broke.')
    },
  })
  const { world, history, shapes } = await open([call('payments.pay')], { tools: [pay] })
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await world.sw.idle()
  const [question] = await world.sw.inbox.list()
  await run.cancel('enough')
  expect((await shapes(run.runId)).slice(-2)).toEqual([
    `interaction.closed ${question?.interaction_id} left_to_inbox`,
    'waiting_user → canceled',
  ])
  expect(await world.sw.inbox.list()).toMatchObject([{ interaction_id: question?.interaction_id }])
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'canceled' })).toEqual([])
})

test('F-23 FCMP: a run that is cancelled in the queue is in attempt 1, and every event names the engine', async () => {
  const { world, history } = await open([say('Done.')], { maxConcurrentRuns: 0 })
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await run.cancel('enough')
  expect(await history(run.runId)).toMatchObject([
    { engine: 'main', meta: { attempt: 1 }, data: { to: 'canceled', terminal: { status: 'canceled' } } },
  ])
})

test('F-23 FCMP: a model that says nothing leaves no empty text', async () => {
  const { world, history } = await open([say('')])
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await run.result()
  const final = (await history(run.runId)).at(-2)
  expect(final?.type).toBe('assistant.message.final')
  expect(final?.data).not.toHaveProperty('text')
})

test('F-23 FCMP: the detail of a warning is a text', async () => {
  const { world, history } = await open([ask(form), say('Done.')])
  const run = await world.sw.runs.start({ agent: 'main', input: 'go' })
  await world.sw.idle()
  const [question] = await world.sw.inbox.list()
  await world.sw.inbox.reply(question?.interaction_id ?? '', { reply: size, expectedWaiting: ['exe_1', 'exe_2'] })
  await run.result()
  const warning = (await history(run.runId)).find(({ type }) => type === 'diagnostic.warning')
  expect(warning?.data).toMatchObject({ code: 'resume_misaligned', detail: expect.stringContaining('exe_1, exe_2') })
  expect(checkFcmp(await history(run.runId), { runId: run.runId, status: 'succeeded' })).toEqual([])
})
