import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createStatewright } from '../../../src/app/statewright.ts'
import type { Submission } from '../../../src/runtime/commands/submit.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { submitRun } from '../../../src/surface/operations/runs.ts'
import { sendMessage } from '../../../src/surface/operations/sessions.ts'
import { createBackendWorld } from '../../support/backend.ts'
import { createWorld } from '../../support/world.ts'

const look = tool({ name: 'shop.look', input: z.object({ n: z.int() }), readOnly: true, run: ({ n }) => n })

test('F-34 result: a requeued run that then succeeded has no message', async () => {
  const begun = Promise.withResolvers<void>()
  const done = Promise.withResolvers<string>()
  const held = tool({
    name: 'shop.wait',
    input: z.object({}),
    readOnly: true,
    run: () => {
      begun.resolve()
      return done.promise
    },
  })
  const main = agent({ role: 'main', model: scriptedModel([call('shop.wait', {}), say('Done.')]), tools: [held] })
  const world = await createWorld({ store: 'sqlite', agents: { main } })
  onTestFinished(() => world.end())
  const { runId, sessionId } = await world.sw.runs.start({ agent: 'main', input: 'Go.' })
  await begun.promise
  const restarted = world.restart()
  done.resolve('waited')
  const sw = await restarted
  const put = (await world.runes(sessionId)).find((rune) => rune.kind === 'run.moved' && rune.to === 'queued')
  expect(put?.payload).toMatchObject({ message: 'the worker is shutting down' })
  const run = await sw.runs.get(runId)
  expect(await run.result()).toEqual({
    runId: runId,
    status: 'succeeded',
    result: 'Done.',
    errorCode: null,
    message: null,
  })
})

test('F-34 budget: the message counts the calls that were made, and those that the next step needs', async () => {
  const script = [...[1, 2, 3, 4].map((n) => call('shop.look', { n })), say('Done.')]
  const main = agent({ role: 'main', model: scriptedModel(script), tools: [look] })
  const world = await createWorld({ agents: { main } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', budget: { toolCalls: 3 } })
  expect(await run.result()).toMatchObject({
    errorCode: 'BUDGET_EXHAUSTED',
    message: 'The run has used up its budget: 3 of 3 tool calls are made, and the next step needs 1 more.',
  })
  expect((await world.runes(run.sessionId)).filter((rune) => rune.kind === 'tool.call')).toHaveLength(3)
})

test('F-34 scripted model: a script without an answer left fails the run', async () => {
  const main = agent({ role: 'main', model: scriptedModel([call('shop.look', { n: 1 })]), tools: [look] })
  const world = await createWorld({ agents: { main } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.' })
  expect(await run.result()).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('it has 1 answer, and this would be number 2'),
  })
})

test.each([{}, { input: null }, { input: undefined }, { input: '' }, { input: ' \n' }])(
  'F-34 submit: %j has no input and is refused',
  async (given) => {
    const main = agent({ role: 'main', model: scriptedModel(() => say('Hi.')) })
    const { world, client } = await createBackendWorld({ main })
    onTestFinished(() => world.end())
    const refused = { code: 'input_missing', message: expect.stringContaining('Pass a text or other JSON as input') }
    await expect(world.sw.runs.start({ agent: 'main', ...given } as Submission)).rejects.toMatchObject(refused)
    const { sessionId } = await world.sw.sessions.create({ agent: 'main' })
    await expect(world.sw.runs.start({ agent: 'main', sessionId, ...given } as Submission)).rejects.toMatchObject(
      refused,
    )

    // A body without the field does not have the shape that is asked for.
    const code = 'input' in given && given.input !== undefined ? 'input_missing' : 'bad_request'
    const body = { agent: 'main', ...given }
    await expect(client.call(submitRun, { body: body as never })).rejects.toMatchObject({ code })
    const message = { params: { session_id: sessionId }, body: given as never }
    await expect(client.call(sendMessage, message)).rejects.toMatchObject({ code })
    expect((await world.runes(sessionId)).some((rune) => rune.kind === 'run.submitted')).toBe(false)
  },
)

test('F-34 submit: input that JSON cannot express, and a submission of another shape, are refused by name', async () => {
  const main = agent({ role: 'main', model: scriptedModel(() => say('Hi.')) })
  const { world } = await createBackendWorld({ main })
  onTestFinished(() => world.end())
  for (const input of [10n, Number.NaN, '\ud800', { deep: [undefined] }, () => 1])
    await expect(world.sw.runs.start({ agent: 'main', input: input as never })).rejects.toMatchObject({
      code: 'input_unfit',
      message: expect.stringContaining('JSON cannot express'),
    })
  for (const given of [undefined, null, 'Go.'])
    await expect(world.sw.runs.start(given as never)).rejects.toMatchObject({ code: 'bad_request' })
})

test('F-34 submit: a budget for a session that exists is refused', async () => {
  const main = agent({ role: 'main', model: scriptedModel(() => say('Hi.')) })
  const { world, client } = await createBackendWorld({ main })
  onTestFinished(() => world.end())
  const { sessionId } = await world.sw.sessions.create({ agent: 'main' })
  const body = { agent: 'main', input: 'Go.', session_id: sessionId, session_budget: { tokens: 5 } }
  await expect(client.call(submitRun, { body })).rejects.toMatchObject({ code: 'budget_given_late' })
  expect((await world.runes(sessionId)).some((rune) => rune.kind === 'run.submitted')).toBe(false)
})

test('F-34 close: a closed memory store refuses work, as the other stores do', async () => {
  const main = agent({ role: 'main', model: scriptedModel(() => say('Hi.')) })
  const sw = await createStatewright({ store: 'memory:', agents: { main } })
  await sw.close()
  await expect(sw.runs.start({ agent: 'main', input: 'Go.' })).rejects.toMatchObject({ code: 'store_closed' })
})
