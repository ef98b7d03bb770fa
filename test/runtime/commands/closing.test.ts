import { expect, test } from 'vitest'
import { createStatewright } from '../../../src/app/statewright.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

test('close: a pending result is refused with stopped_waiting, and run events end', async () => {
  const waits = agent({ role: 'waits', model: scriptedModel([ask({ title: 'Which?', fields: [{ name: 'colour' }] })]) })
  const sw = await createStatewright({ store: 'memory:', agents: { waits } })
  const run = await sw.runs.start({ agent: 'waits', input: 'Go.' })
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

test('F-103 goals: result and watch do not wait for ever when the process closes', async () => {
  const registry = registryIn(scratchFolder('closing').fresh())
  const sw = await createStatewright({ store: 'memory:', plans: { registry }, agents: { worker: worker() } })
  const { goalId } = await sw.goals.start({ goal: 'By hand', plan: planOf(note('ta')) })
  await sw.idle()
  const result = expect(sw.goals.result(goalId)).rejects.toMatchObject({ code: 'stopped_waiting' })
  const states: string[] = []
  for await (const { state } of sw.goals.watch(goalId)) {
    states.push(state)
    void sw.close()
  }
  await result
  expect(states).toEqual(['planning'])
})
