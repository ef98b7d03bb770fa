import { afterEach, expect, test } from 'vitest'
import { agent } from '../../../src/runtime/define-agent.ts'
import { breakOff, call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { look, note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World, type WorldOptions } from '../../support/world.ts'

const registry = registryIn(scratchFolder('suspended-goals').fresh())
const plan = planOf(note('ta'), { ...note('tb'), depends_on: ['ta'] })

let world: World
afterEach(() => world?.end())

async function open(agents: WorldOptions['agents'], error_threshold = 1) {
  world = await createWorld({
    agents,
    plans: { registry },
    policy: { mode: 'full_access' },
    settings: { errorThreshold: error_threshold },
  })
  return world.sw
}

/** A worker whose first model call breaks, after which it does what it is told. */
function shaky(retryable: boolean) {
  let calls = 0
  const model = scriptedModel(() => (calls++ === 0 ? breakOff('down', { retryable }) : say('done')))
  return agent({ role: 'worker', model, tools: [look], retries: { tries: 9, firstDelayMs: 1 } })
}

test('goal result: a goal in a session that its errors suspended is refused, and goes on once the session is back', async () => {
  const sw = await open({ worker: shaky(true) })
  const { goalId, sessionId } = await sw.goals.start({ goal: 'Two notes', plan, auto: true })
  const stuck = {
    code: 'session_suspended',
    message: expect.stringMatching(/goal_\w+ does not go on\. .*reset it \(statewright resume ses_/),
    details: { session_id: sessionId, goal_id: goalId, by: 'errors' },
  }
  await expect(sw.goals.result(goalId)).rejects.toMatchObject(stuck)
  await sw.idle()
  await expect(sw.goals.result(goalId)).rejects.toMatchObject(stuck)
  expect(await sw.goals.show(goalId)).toMatchObject({
    held_up_by: { what: 'session', id: sessionId, state: 'suspended', needs_person: true },
  })

  await sw.sessions.reset(sessionId, 'the model is up again')
  expect(await sw.goals.result(goalId)).toMatchObject({ state: 'goal_met', held_up_by: null })
})

test('goal result: a goal with no run in the queue of its suspended session is refused, too', async () => {
  const sessionBudget = { toolCalls: 1 }
  const greedy = agent({
    role: 'greedy',
    model: scriptedModel([call('shop.look'), call('shop.look', { n: 2 })]),
    tools: [look],
  })
  const sw = await open({ worker: worker(), greedy })
  const { sessionId } = await sw.runs.start({ agent: 'worker', input: 'Hi.', sessionBudget })
  await sw.idle()
  const { goalId } = await sw.goals.start({ goal: 'Two notes', plan, sessionId })
  await sw.idle()
  await sw.runs.start({ agent: 'greedy', input: 'Go.', sessionId })
  await sw.idle()
  // WHEN a person lets the plan start in the suspended session, no task of it is given out
  await sw.goals.approve(goalId)
  await sw.idle()
  expect(await sw.goals.show(goalId)).toMatchObject({ state: 'blocked', tasks: [{ run_id: null }, { run_id: null }] })
  await expect(sw.goals.result(goalId)).rejects.toMatchObject({ code: 'session_suspended', details: { by: 'budget' } })

  const result = sw.sessions.replenish(sessionId, { toolCalls: 10 }).then(() => sw.goals.result(goalId))
  expect(await result).toMatchObject({ state: 'goal_met' })
})

test('goal result: a goal that ends although its session is suspended is reported and not refused', async () => {
  const sw = await open({ worker: shaky(false) })
  const { goalId } = await sw.goals.start({
    goal: 'A note',
    plan: planOf(note('ta')),
    auto: true,
    budget: { iterations: 1 },
  })
  expect(await sw.goals.result(goalId)).toMatchObject({ state: 'stopped', held_up_by: null })
})

test('goal report: a paused session holds up its goal, and result() waits for the end', async () => {
  const sw = await open({ worker: worker() })
  const { goalId, sessionId } = await sw.goals.start({ goal: 'Two notes', plan })
  await sw.idle()
  await sw.sessions.pause(sessionId)
  expect(await sw.goals.show(goalId)).toMatchObject({ held_up_by: { state: 'paused' } })
  const result = sw.goals.result(goalId)
  await sw.goals.approve(goalId)
  await sw.sessions.resume(sessionId)
  expect(await result).toMatchObject({ state: 'goal_met' })
})
