import { afterEach, expect, test } from 'vitest'
import type { Agent } from '../../../src/runtime/define-agent.ts'
import { ask, say } from '../../../src/runtime/scripted-model.ts'
import { note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('approve').fresh())
/** A task with a condition in words: a person is asked whether it holds. */
const sure = (id: string) => ({ ...note(id), condition: 'The customer agrees.' })
let world: World
afterEach(() => world.end())

async function start(plan: never, does: Agent = worker()) {
  world = await createWorld({ agents: { worker: does }, plans: { registry } })
  const { goalId } = await world.sw.goals.start({ goal: 'Write', plan })
  await world.sw.idle()
  const { approve, show } = world.sw.goals
  const again = async (task?: string) => {
    await approve(goalId, task === undefined ? {} : { task })
    await world.sw.idle()
    return show(goalId)
  }
  return { goal_id: goalId, again }
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

const written = (id: string) => ({ ...note(id), command: 'cmd_write' })
const gatesIn = ({ tasks, waits_for }: Awaited<ReturnType<World['sw']['goals']['show']>>) =>
  tasks.filter(({ task_id }) => waits_for.some((wait) => wait.task_id === task_id)).map(({ task }) => task)

test('goal reject: without a task it refuses the only open review of a blocked goal, and gives up nothing else', async () => {
  const { goal_id, again } = await start(planOf(note('ta'), written('tw')))
  const [gate] = gatesIn(await again())
  expect(await world.sw.goals.show(goal_id)).toMatchObject({ state: 'blocked' })
  await world.sw.goals.reject(goal_id, { reason: 'not this text' })
  await world.sw.idle()
  const { tasks, cause } = await world.sw.goals.show(goal_id)
  expect(cause).not.toBe('given_up')
  expect(tasks.map(({ task, state }) => [task, state])).toEqual(
    expect.arrayContaining([
      ['ta', 'completed'],
      [gate, 'failed'],
      ['tw', 'skipped'],
    ]),
  )
})

test('goal reject: without a task, where several reviews are open, it is refused and names each of them', async () => {
  const { goal_id, again } = await start(planOf(sure('ta'), sure('tb')))
  const gates = gatesIn(await again())
  expect(gates).toHaveLength(2)
  const before = await world.sw.goals.show(goal_id)
  expect(before.state).toBe('blocked')
  await expect(world.sw.goals.reject(goal_id)).rejects.toMatchObject({
    code: 'goal_not_waiting',
    details: { asked: 'reject', open: gates },
    message: expect.stringContaining(gates.join(', ')),
  })
  expect(await world.sw.goals.show(goal_id)).toEqual(before)
})

test('goal reject: the same rejection, sent again with its key, does not reject another question of the goal', async () => {
  const form = ask({ title: 'Which?', fields: [{ name: 'which', required: true }] })
  const { goal_id, again } = await start(planOf(note('ta'), sure('tb')), worker({ ta: [form, say('done')] }))
  expect((await again()).waits_for).toHaveLength(2)
  const rejection = { idempotencyKey: 'once' }
  await world.sw.goals.reject(goal_id, rejection)
  await world.sw.idle()
  const after = await world.sw.goals.show(goal_id)
  expect(after).toMatchObject({ state: 'blocked', waits_for: [{ run_id: expect.any(String) }] })
  await world.sw.goals.reject(goal_id, rejection)
  expect(await world.sw.goals.show(goal_id)).toEqual(after)
})
