import { afterEach, expect, test } from 'vitest'
import type { Lineage } from '../../../src/coordinator/schemas/record.ts'
import { note, planner, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('recovers').fresh())
const denied = { tasks: [{ ...note('ta'), command: 'cmd_deploy' }] }

let world: World
afterEach(() => world?.end())

/** The lineage of every coordination of a session, oldest first. */
async function lineages(session_id: string): Promise<Lineage[]> {
  const received = (await world.runes(session_id)).filter(({ kind }) => kind === 'coordination.received')
  const files = await Promise.all(received.map(({ subject_id = '' }) => world.sw.plans.files(subject_id)))
  return files.map(({ 'lineage.json': text = '' }) => JSON.parse(text) as Lineage)
}

test('F-50 goals: a redraft names the coordination that it takes the place of, whether that failed or was rejected', async () => {
  const drafts = planner(denied, 'not a plan at all', planOf(note('ta')), planOf(note('tb')))
  world = await createWorld({ agents: { worker: worker(), planner: drafts }, plans: { registry } })
  const { goalId, sessionId } = await world.sw.goals.start({ goal: 'A plan', planner: 'planner', maxDrafts: 5 })
  await world.sw.idle()
  await world.sw.goals.reject(goalId, { reason: 'another note' })
  await world.sw.idle()

  const [first, second, third] = await lineages(sessionId)
  expect(first?.recovers).toBeNull()
  // The draft in between has no shape, so the Coordinator never saw it.
  expect(second?.recovers).toMatchObject({ run_id: first?.coordinator_run_id, final_state: 'ABORTED' })
  expect(third?.recovers).toMatchObject({ run_id: second?.coordinator_run_id, final_state: 'DONE' })
})
