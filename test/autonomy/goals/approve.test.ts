import { afterEach, expect, test } from 'vitest'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('approve').fresh())
let world: World
afterEach(() => world.end())

async function start(plan: never) {
  world = await createWorld({ agents: { worker: worker() }, plans: { registry } })
  const { goal_id } = await world.sw.goals.start({ goal: 'Write', plan })
  await world.sw.idle()
  const { approve, show } = world.sw.goals
  const again = async (task?: string) => {
    await approve(goal_id, task === undefined ? {} : { task })
    await world.sw.idle()
    return show(goal_id)
  }
  return { goal_id, again }
}

test('GO-06 reports: a goal that is cancelled while its plan waits has no task that is pending', async () => {
  const { goal_id } = await start(planOf(note('ta'), note('tb', 'ta')))
  expect((await world.sw.goals.show(goal_id)).tasks).toMatchObject([{ state: 'pending' }, { state: 'pending' }])
  await world.sw.goals.cancel(goal_id, 'enough')
  const gone = { state: 'cancelled', reason: 'enough' }
  expect(await world.sw.goals.show(goal_id)).toMatchObject({ state: 'stopped', tasks: [gone, gone] })
})

test('GO-06 approvals: an approval that names no task approves the plan and, sent again, no review', async () => {
  const { goal_id, again } = await start(planOf({ ...note('tw'), command: 'cmd_write' }))
  const blocked = await again()
  const gate = blocked.tasks.find(({ kind }) => kind === 'review')?.task ?? ''
  expect(blocked).toMatchObject({ state: 'blocked', waits_for: [{ interaction_kind: 'approval' }] })
  await expect(again()).rejects.toMatchObject({ code: 'goal_not_waiting', message: expect.stringContaining(gate) })
  expect(await world.sw.goals.show(goal_id)).toMatchObject({ state: 'blocked' })
  expect(await again(gate)).toMatchObject({ state: 'goal_met' })
})
