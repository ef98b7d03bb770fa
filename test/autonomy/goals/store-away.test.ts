import { expect, test } from 'vitest'
import { openStore, type Store } from '../../../src/app/open-store.ts'
import { faults } from '../../../src/faults/catalogue.ts'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { storeWith } from '../../support/store-with.ts'
import { createWorld } from '../../support/world.ts'

const registry = registryIn(scratchFolder('store-away').fresh())

test('store away: a goal that met a store out of reach goes on when the store is back', async () => {
  const store = await openStore('memory:')
  let refused = 0
  const append: Store['runelog']['append'] = async (batch) => {
    if (batch.runes.some((rune) => rune.kind === 'plan.task_assigned') && refused++ === 0)
      throw faults.store_unreachable({ store: 'the database', cause: 'it restarts' })
    return store.runelog.append(batch)
  }
  const world = await createWorld({
    store: storeWith(store, { runelog: { ...store.runelog, append } }),
    agents: { worker: worker() },
    plans: { registry },
    policy: { mode: 'full_access' },
  })
  const { goalId } = await world.sw.goals.start({
    goal: 'One',
    auto: true,
    plan: planOf(note('task_a'), note('task_b', 'task_a')),
  })
  await world.sw.idle()
  expect(refused).toBeGreaterThan(0)
  await world.hand.advance(5_000)
  await world.sw.idle()
  expect((await world.sw.goals.show(goalId)).state).toBe('goal_met')
  await world.end()
})
