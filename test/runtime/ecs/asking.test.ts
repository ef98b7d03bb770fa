import { expect, test } from 'vitest'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

async function played(given: Partial<Parameters<typeof agent>[0]> & Pick<Parameters<typeof agent>[0], 'model'>) {
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', ...given }) } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
  await world.sw.idle()
  const { status } = await world.sw.runs.show(run.runId)
  const runes = await world.runes(run.sessionId)
  expect(auditRunes(runes)).toEqual([])
  await world.end()
  return { status, runes, warnings: world.warnings }
}

/** The problem is described in the words of the platform, which quotes the text and cuts the quotation anywhere. */
const broken = '{"title": ?😀😀😀😀😀😀😀😀"}'

test('asking: a question that is broken JSON is refused in well-formed words, and the model goes on', async () => {
  expect(() => JSON.parse(broken)).toThrow(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/)
  const { status, runes, warnings } = await played({ model: scriptedModel([call('ask_person', broken), say('done')]) })
  expect({ status, warnings }).toEqual({ status: 'succeeded', warnings: [] })
  const rejected = runes.find((r) => r.kind === 'contract.moved' && r.to === 'rejected')
  expect(rejected?.payload).toMatchObject({ error_message: expect.stringContaining('The arguments are not JSON') })
})

test('ask_person: an agent that may not ask puts no question, even if its model calls the tool', async () => {
  const model = scriptedModel([ask({ type: 'confirmation', title: 'Sure?' }), say('done')])
  const { status, runes } = await played({ model, mayAsk: false })
  expect(status).toBe('succeeded')
  expect(runes.filter((r) => r.kind === 'interaction.opened')).toEqual([])
  const told = runes.find((r) => r.kind === 'tool.result')
  expect(told?.payload).toMatchObject({ status: 'error', error: expect.stringContaining('no tool "ask_person"') })
})
