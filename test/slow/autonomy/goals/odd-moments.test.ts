import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { drained } from '../../../../src/adapters/system/testing.ts'
import { call, say } from '../../../../src/runtime/scripted-model.ts'
import { content, critic, note, planner, planOf, worker } from '../../../scenarios/goal-cast.ts'
import { chosen, form } from '../../../scenarios/props.ts'
import { heldTool } from '../../../scenarios/theatre.ts'
import { openQuestion } from '../../../support/coordinator.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { asking, packFor, whereTo } from '../../../support/plans.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { createWorld, type World } from '../../../support/world.ts'

const scratch = scratchFolder('odd-moments')
const registry = registryIn(scratch.fresh())
const plans = { registry }
const asks = { ta: [form, say('ta is done')] }
const reviewed = planOf({ ...note('tw'), command: 'cmd_write' })

let world: World
afterEach(() => world?.end())

const showing = (goal_id: string) => world.sw.goals.show(goal_id)

async function answerAll() {
  for (const { interaction_id } of await world.sw.inbox.list())
    await world.sw.inbox.reply(interaction_id, { reply: chosen })
  await world.sw.idle()
}

describe('goals: a planner, critic or registry that is gone', () => {
  test('a submitted plan is judged by the registry that was recorded with it', async () => {
    const folder = registryIn(scratch.fresh())
    world = await createWorld({ store: 'sqlite', agents: { worker: worker() }, plans: { registry: folder } })
    const open_questions = [{ ...openQuestion('which'), evidence_refs: ['ev1'] }]
    const plan = { ...(planOf(note('ta')) as object), open_questions } as never
    const { goalId } = await world.sw.goals.start({ goal: 'Ask', plan, auto: true })
    await world.sw.idle()
    writeFileSync(join(folder, 'broken.yaml'), 'kind: nonsense\n')
    await world.restart()
    const [asked] = await world.sw.plans.list()
    const { coordination_id, waits_for } = await world.sw.plans.show(asked?.coordination_id ?? '')
    const answer_pack = packFor(waits_for?.question_pack, { which: 'go' })
    await world.sw.plans.answer(coordination_id, { answerPack: answer_pack })
    await world.sw.idle()
    expect(await showing(goalId)).toMatchObject({ state: 'goal_met' })
  })

  test('without its critic a goal stops and says so', async () => {
    const agents = { worker: worker(asks) }
    world = await createWorld({ store: 'sqlite', agents: { ...agents, critic: critic(content) }, plans })
    const plan = planOf(note('ta'))
    const { goalId } = await world.sw.goals.start({ goal: 'Review', plan, auto: true, critic: 'critic' })
    await world.sw.idle()
    await world.restart({ agents })
    await answerAll()
    expect(await showing(goalId)).toMatchObject({
      state: 'stopped',
      reason: 'Its critic critic is not configured any more.',
    })
  })

  test('without its planner a goal stops and says so', async () => {
    const agents = { worker: worker() }
    world = await createWorld({ store: 'sqlite', agents: { ...agents, planner: planner(planOf(note('ta'))) }, plans })
    const { goalId } = await world.sw.goals.start({ goal: 'Plan', planner: 'planner' })
    await world.sw.idle()
    await world.restart({ agents })
    await world.sw.goals.reject(goalId)
    await world.sw.idle()
    expect(await showing(goalId)).toMatchObject({
      state: 'stopped',
      reason: 'Its planner planner is not configured any more.',
    })
  })

  test('a goal whose own agent was killed stops where it would need it', async () => {
    world = await createWorld({ agents: { worker: worker(), planner: planner(planOf(note('ta'))) }, plans })
    const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Plan', planner: 'planner' })
    await world.sw.idle()
    const [head] = (await world.runes(sessionId)).filter((rune) => rune.kind === 'agent.spawning')
    await world.sw.agents.kill(head?.agent_id ?? '')
    await world.sw.goals.reject(goalId)
    await world.sw.idle()
    expect(await showing(goalId)).toMatchObject({
      state: 'stopped',
      reason: 'The agent that drafts its plans was terminated.',
    })
  })
})

describe('goals: another plan', () => {
  const instead = { reason: 'another way', plan: planOf(note('tz')) }
  test.each(['by its name', 'as the only one'])(
    'a review that is refused, %s, with another plan goes on with that plan',
    async (how) => {
      world = await createWorld({ agents: { worker: worker() }, plans })
      const { goalId } = await world.sw.goals.start({ goal: 'Write', auto: true, plan: reviewed })
      await world.sw.idle()
      const [review] = (await showing(goalId)).waits_for
      await world.sw.goals.reject(goalId, how === 'by its name' ? { ...instead, task: review?.task_id ?? '' } : instead)
      await world.sw.idle()
      expect(await showing(goalId)).toMatchObject({ state: 'goal_met', tasks: [{ task: 'tz' }] })
    },
  )

  test('goals: a plan that comes too late replaces no other plan', async () => {
    world = await createWorld({ agents: { worker: worker() }, plans })
    const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Plan', plan: planOf(note('ta')) })
    await world.sw.idle()
    const first = { plan: planOf(note('tb')), idempotencyKey: 'one' }
    await world.sw.goals.reject(goalId, first)
    await world.sw.goals.reject(goalId, first)
    await world.sw.idle()
    await world.sw.goals.reject(goalId, first)
    const given = (await world.runes(sessionId)).filter(({ kind }) => kind === 'plan.updated')
    expect(given).toHaveLength(1)
    expect(await showing(goalId)).toMatchObject({ state: 'planning', tasks: [{ task: 'tb' }] })
  })
})

describe('goals: idempotency key', () => {
  test('a goal that is set several times at once with one key is one goal', async () => {
    world = await createWorld({ agents: { worker: worker() }, plans, secrets: { word: 'hush-hush' } })
    const { sessionId } = await world.sw.sessions.create({ agent: 'worker' })
    for (const where of [{}, { sessionId }]) {
      const set = (id: string) =>
        world.sw.goals.start({
          goal: 'Say hush-hush',
          plan: planOf({ ...note(id), intent: 'Say hush-hush aloud.' }),
          idempotencyKey: `key ${JSON.stringify(where)}`,
          ...where,
        })
      const all = await Promise.all([set('ta'), set('ta'), set('ta')])
      expect(new Set(all.map(({ goalId }) => goalId)).size).toBe(1)
      await world.sw.idle()
      expect(await set('ta')).toEqual(all[0])
      await expect(set('tb')).rejects.toMatchObject({ code: 'key_reused' })
    }
    expect(await world.sw.goals.list()).toHaveLength(2)
  })

  test('an approval that is sent again with its key takes effect once, in every state of the goal', async () => {
    world = await createWorld({ agents: { worker: worker() }, plans })
    const { goalId } = await world.sw.goals.start({ goal: 'Plan', plan: planOf(note('ta')) })
    await world.sw.idle()
    const approval = { idempotencyKey: 'one' }
    await world.sw.goals.approve(goalId, approval)
    await world.sw.goals.approve(goalId, approval)
    await world.sw.idle()
    await world.sw.goals.approve(goalId, approval)
    await expect(world.sw.goals.reject(goalId, approval)).rejects.toMatchObject({ code: 'key_reused' })
    await expect(world.sw.goals.approve(goalId)).rejects.toMatchObject({ code: 'goal_not_waiting' })
    expect(await showing(goalId)).toMatchObject({ state: 'goal_met' })
  })
})

describe('goals: other work in the same session', () => {
  test('a message does not reach an agent that leaves with its task, and outlives the goal', async () => {
    const agents = { planner: planner(planOf(note('ta'))), worker: worker(asks) }
    world = await createWorld({ agents, plans })
    const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Ask', auto: true, planner: 'planner' })
    await world.sw.idle()
    const mine = await world.sw.runs.start({ agent: 'worker', input: 'Hello', sessionId })
    const other = await world.sw.runs.start({ agent: 'planner', input: 'Hello', sessionId })
    await world.sw.goals.cancel(goalId)
    expect(await mine.result()).toMatchObject({ status: 'succeeded' })
    expect(await other.result()).toMatchObject({ status: 'succeeded' })
  })

  test('a plan whose intent was erased keeps no goal beside it from going on', async () => {
    world = await createWorld({ agents: { worker: worker() }, plans })
    const { session_id, coordination_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
    const [received] = (await world.runes(session_id)).filter(({ kind }) => kind === 'coordination.received')
    await world.sw.sessions.redact(session_id, received?.event_id ?? 0, 'private')
    const { goalId } = await world.sw.goals.start({ goal: 'Go', sessionId: session_id, plan: planOf(note('ta')) })
    const answer_pack = packFor(waits_for?.question_pack, { target: 'staging' })
    const answered = world.sw.plans.answer(coordination_id, { answerPack: answer_pack })
    await expect(answered).rejects.toMatchObject({ code: 'coordination_diverged' })
    await world.sw.idle()
    await world.sw.goals.approve(goalId)
    await world.sw.idle()
    expect(await showing(goalId)).toMatchObject({ state: 'goal_met' })
    await world.sw.sessions.close(session_id)
    expect((await world.runes(session_id)).at(-1)?.kind).toBe('session.closed')
    expect(new Set(world.warnings.map(({ message }) => message))).toEqual(new Set(['a plan cannot go on']))
  })

  test('a goal in a session that began with a plan is its first agent', async () => {
    world = await createWorld({ agents: { worker: worker() }, plans })
    const { session_id } = await world.sw.plans.submit(asking(whereTo))
    await world.sw.goals.start({ goal: 'Go', sessionId: session_id, plan: planOf(note('ta')) })
    const activated = await world.until(session_id, ({ kind }) => kind === 'session.activated')
    expect(activated.payload).toMatchObject({ root_agent_id: expect.stringMatching(/^agt_/) })
  })
})

test('odd moments: a task that waited for a person goes on only when its agent has a place for it', async () => {
  const held = heldTool('shop.look', { readOnly: true })
  const parts = { ...asks, tb: [call('shop.look'), say('tb is done')] }
  world = await createWorld({ agents: { worker: worker(parts, { tools: [held.tool] }) }, plans })
  const plan = planOf(note('ta'), { ...note('tb'), command: 'cmd_look' })
  const { goalId } = await world.sw.goals.start({ goal: 'Both', auto: true, plan, perAgent: { worker: 1 } })
  await held.hasBegun()
  const running = async () =>
    (await Promise.all((await showing(goalId)).tasks.map(({ run_id }) => world.sw.runs.show(run_id ?? '')))).map(
      ({ status }) => status,
    )
  const before = await running()
  const [asked] = await world.sw.inbox.list()
  await world.sw.inbox.reply(asked?.interaction_id ?? '', { reply: chosen })
  await drained()
  const meanwhile = await running()
  held.begun[0]?.resolve('seen')
  expect({ before, meanwhile }).toEqual({ before: ['waiting_user', 'running'], meanwhile: ['queued', 'running'] })
  expect(await world.sw.goals.result(goalId)).toMatchObject({ state: 'goal_met' })
})

test('odd moments: the deadline of answers can be recorded for any duration', async () => {
  world = await createWorld({ agents: { worker: worker() }, plans })
  const view = await world.sw.plans.submit({ ...asking(whereTo), answerTimeoutMs: Number.MAX_SAFE_INTEGER })
  expect(view).toMatchObject({ state: 'AWAITING_ANSWERS', waits_for: { deadline: Number.MAX_SAFE_INTEGER } })
})
