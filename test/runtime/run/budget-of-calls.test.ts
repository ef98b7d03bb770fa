import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'

const look = tool({ name: 'shop.look', input: z.object({}), readOnly: true, run: () => 'seen' })
const sure = ask({ type: 'confirmation', title: 'Sure?' })

test('budget of calls: a step for a person is no tool call; it may follow the last call, or be made with it', async () => {
  const model = scriptedModel([together(call('shop.look'), sure), sure, say('done'), call('shop.look')])
  const worker = agent({ role: 'worker', model, tools: [look], budget: { toolCalls: 1 } })
  const world = await createWorld({ agents: { worker } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  for (let round = 0; round < 2; round++) {
    await world.sw.idle()
    for (const { interaction_id } of await world.sw.inbox.list())
      await world.sw.inbox.reply(interaction_id, { reply: { action: 'approve' } })
  }
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  const next = await world.sw.runs.start({ agent: 'worker', input: 'look', sessionId: run.sessionId })
  expect(await next.result()).toMatchObject({ status: 'failed', errorCode: 'BUDGET_EXHAUSTED' })
  await world.end()
})
