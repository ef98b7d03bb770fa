import { afterEach, expect, test } from 'vitest'
import { call } from '../../../src/runtime/scripted-model.ts'
import { getGoal } from '../../../src/surface/operations/goals.ts'
import { note, payTool, planOf, worker } from '../../scenarios/goal-cast.ts'
import { createBackendWorld } from '../../support/backend.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('open-questions').fresh())
let world: World
afterEach(() => world.end())

const paying = planOf({ ...note('tp'), command: 'cmd_pay' })

/** A goal whose only task pays, and is past its review. */
async function pay(more: Parameters<typeof payTool>[0], store: 'memory' | 'sqlite' = 'memory') {
  const agents = { worker: worker({ tp: [call('shop.pay', { cents: 7 })] }, { tools: [payTool(more).tool] }) }
  const made = await createBackendWorld(agents, { store, plans: { registry } })
  world = made.world
  const { goalId } = await world.sw.goals.start({ goal: 'Pay', auto: true, plan: paying })
  await world.sw.idle()
  const { waits_for, tasks } = await world.sw.goals.show(goalId)
  for (const { task_id, run_id } of waits_for)
    if (run_id === null)
      await world.sw.goals.approve(goalId, { task: tasks.find((one) => one.task_id === task_id)?.task ?? '' })
  await world.sw.idle()
  return { goal_id: goalId, show: () => world.sw.goals.show(goalId), ...made }
}

test('goal report: a settlement that outlives a cancelled goal stays in waits_for until it is settled', async () => {
  const { goal_id, show, client } = await pay({
    approval: 'never',
    run: () => {
      throw new Error('the line went dead')
    },
  })
  const [asked] = (await show()).waits_for
  expect(asked).toMatchObject({ interaction_kind: 'settlement' })
  expect(await world.sw.goals.cancel(goal_id)).toBe(true)
  await world.sw.idle()
  expect(await show()).toMatchObject({ state: 'stopped', waits_for: [{ interaction_kind: 'settlement' }] })
  const looked = await client.call(getGoal, { params: { goal_id } })
  expect(looked.waits_for).toEqual((await show()).waits_for)
  for (const { interaction_id } of looked.waits_for)
    await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened' } })
  await world.sw.idle()
  expect(await show()).toMatchObject({ state: 'stopped', waits_for: [] })
})

test('goal approve: of a goal that is blocked over the approval of a tool it names that question', async () => {
  const { goal_id, show } = await pay({ approval: 'always' })
  const [asked] = (await show()).waits_for
  expect(asked).toMatchObject({ interaction_kind: 'approval' })
  const answers = [`approve ${asked?.interaction_id}`]
  for (const task of [undefined, 'tp'])
    await expect(world.sw.goals.approve(goal_id, task === undefined ? {} : { task })).rejects.toMatchObject({
      code: 'goal_not_waiting',
      details: { answers },
      message: `Goal ${goal_id} is blocked, and no plan or review of it is open. A run of it asks a person: ${answers}.`,
    })
})

test('goal approve: a task that the goal has not is said to be wrong, with the tasks that there are', async () => {
  const { goal_id } = await pay({ approval: 'always' })
  await expect(world.sw.goals.approve(goal_id, { task: 'nope' })).rejects.toMatchObject({
    code: 'goal_not_waiting',
    details: { unknown_task: 'nope', tasks: expect.arrayContaining(['tp']) },
    message: expect.stringMatching(/^Goal \S+ has no task "nope"; its tasks are .*tp.*\. Goal \S+ is blocked/),
  })
})

test('goal report: a blocked goal whose question is answered while no process works does not say that it waits', async () => {
  const { show } = await pay({ approval: 'always', irreversible: false }, 'sqlite')
  const [asked] = (await show()).waits_for
  expect(await show()).toMatchObject({ state: 'blocked', reason: expect.stringContaining('waits') })
  await world.restart({ maxConcurrentRuns: 0 })
  await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: { decision: 'approve' } })
  const reason = 'What it waited for is answered. It goes on when a process works on it.'
  const { tasks, ...report } = await show()
  expect(report).toMatchObject({ state: 'blocked', waits_for: [], reason })
  expect(tasks.filter(({ state }) => state === 'blocked')).toMatchObject([{ task: 'tp', reason }])
  await world.restart()
  await world.sw.idle()
  expect(await show()).toMatchObject({ state: 'goal_met' })
})

test('goal start: a name in perAgent that no agent has is refused, with the names that exist', async () => {
  world = await createWorld({ agents: { worker: worker() }, plans: { registry } })
  const start = (perAgent: Record<string, number>) =>
    world.sw.goals.start({ goal: 'Write', plan: planOf(note('ta')), perAgent })
  await expect(start({ worker: 1, wroker: 1 })).rejects.toMatchObject({
    code: 'bad_definition',
    message: expect.stringContaining(
      'Its limit per agent names wroker, which is not configured. Configured agents: worker.',
    ),
  })
  expect(await world.sw.goals.list()).toEqual([])
  expect(await start({ worker: 1 })).toMatchObject({ goalId: expect.any(String) })
})
