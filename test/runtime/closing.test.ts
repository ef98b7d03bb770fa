import { expect, test } from 'vitest'
import { agent } from '../../src/runtime/agents/define-agent.ts'
import { ask, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createStatewright } from '../../src/statewright.ts'

test('who waits for a run does not wait for ever when the process closes', async () => {
  const waits = agent({ role: 'waits', model: scriptedModel([ask({ title: 'Which?', fields: [{ name: 'colour' }] })]) })
  const sw = await createStatewright({ store: 'memory:', agents: { waits } })
  const run = await sw.submit({ agent: 'waits', input: 'Go.' })
  const result = expect(run.result()).rejects.toMatchObject({ code: 'stopped_waiting' })
  const kinds: string[] = []
  for await (const event of run.events()) {
    if (event.type !== 'rune') continue
    kinds.push(event.rune.kind)
    if (event.rune.to === 'waiting_user') void sw.close()
  }
  await result
  expect(kinds).toContain('interaction.opened')
  expect(kinds.at(-1)).toBe('run.moved')
})
