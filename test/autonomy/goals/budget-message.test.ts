import { afterEach, expect, test } from 'vitest'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('budget-message').fresh())

let world: World
afterEach(() => world.end())

test('F-54 goals: the sentence about a used-up budget is made of numbers, not cut from that of a run', async () => {
  world = await createWorld({ agents: { worker: worker() }, plans: { registry } })
  const budget = { tokens: 0 }
  const { goalId, sessionId } = await world.sw.goals.start({
    goal: 'Stop',
    plan: planOf(note('ta')),
    auto: true,
    budget,
  })
  await world.sw.idle()
  const failed = (await world.runes(sessionId)).find((rune) => rune.kind === 'run.moved' && rune.to === 'failed')
  expect(failed?.payload).toMatchObject({ budget_spent: { limit: 'tokens', used: 0, allowed: 0 } })
  expect(await world.sw.goals.show(goalId)).toMatchObject({
    state: 'stopped',
    reason: 'The goal has used up its budget: 0 of 0 tokens.',
  })
})
