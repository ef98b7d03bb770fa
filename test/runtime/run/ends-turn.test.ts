import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { DidNotHappen } from '../../../src/runtime/tools/tool.ts'
import { createWorld } from '../../support/world.ts'

const input = z.object({})
const look = tool({ name: 'shop.look', input, readOnly: true, run: () => 'seen' })
const close = (run: () => { order: number }) =>
  tool({ name: 'shop.close', input, irreversible: true, endsTurn: true, approval: 'never', run })

async function play(steps: Parameters<typeof scriptedModel>[0], run: () => { order: number }) {
  const main = agent({ role: 'main', model: scriptedModel(steps), tools: [look, close(run)] })
  const world = await createWorld({ agents: { main } })
  onTestFinished(() => world.end())
  const submitted = await world.sw.runs.start({ agent: 'main', input: 'Close it.' })
  const result = await submitted.result()
  return { result, runes: await world.runes(submitted.sessionId) }
}

test('endsTurn: the result of the tool is the result of the run, and the model is not asked again', async () => {
  const { result, runes } = await play([call('shop.close', {})], () => ({ order: 7 }))
  expect(result).toMatchObject({ status: 'succeeded', result: { order: 7 } })
  const ended = runes.find(({ kind }) => kind === 'turn.completed')
  expect(ended).toMatchObject({
    from: 'tool_executing',
    payload: { final_output: '{"order":7}', finish: 'no_more_calls' },
    guards: [{ guard: 'no_more_calls', holds: true, because: 'shop.close ended the turn with its result.' }],
  })
})

test('endsTurn: beside other calls the turn ends once all of them have their results', async () => {
  const { result, runes } = await play([together(call('shop.look', {}), call('shop.close', {}))], () => ({ order: 8 }))
  expect(result).toMatchObject({ status: 'succeeded', result: { order: 8 } })
  expect(runes.filter(({ kind }) => kind === 'tool.result')).toHaveLength(2)
})

test('endsTurn: a call that fails leaves the turn to the model', async () => {
  const fail = () => {
    throw new DidNotHappen('The order is locked.')
  }
  const { result, runes } = await play([call('shop.close', {}), say('It is locked.')], fail)
  expect(result).toMatchObject({ status: 'succeeded', result: 'It is locked.' })
  expect(runes.find(({ kind }) => kind === 'turn.tools_finished')?.guards).toEqual([
    { guard: 'continue', holds: true, because: 'The model gets the results.' },
  ])
})
