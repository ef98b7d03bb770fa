import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'

test('redact() of a tool: a result that is no text is refused with a sentence', async () => {
  const said: string[] = []
  const look = tool({
    name: 'look',
    input: z.object({}),
    approval: 'never',
    run: async (_, { redact }) => {
      for (const given of [undefined, null, 5, {}, ['a']])
        await redact(given as string).catch((error: Error) => said.push(error.message))
      return redact('pin 12345678')
    },
  })
  const model = scriptedModel([call('look'), say('done')])
  const agents = { worker: agent({ role: 'worker', model, tools: [look] }) }
  const world = await createWorld({ agents, secrets: { pin: '12345678' } })
  const { sessionId } = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  const result = await world.until(sessionId, ({ kind }) => kind === 'tool.result')
  expect(result.payload).toMatchObject({ status: 'success', output: 'pin [secret:pin]' })
  expect(said).toEqual(
    ['undefined', 'null', '5', 'an object', 'a list'].map((shown) => `redact() got ${shown}. Pass the text to clean.`),
  )
  await world.end()
})
