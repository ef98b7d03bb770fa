import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, createStatewright, type Statewright } from 'statewright'
import type { GoalSubmission } from 'statewright/goals'
import { ask, call, say } from 'statewright/testing'
import { expect } from 'vitest'
import { content, critic, finding, goalContent, heldLook, note, planner, worker } from './support/goal-cast.ts'
import { writeRegistry } from './support/plan-content.ts'
import { runToEnd } from './support/process.ts'
import { scenario } from './support/scenario.ts'

const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

interface Stage {
  readonly sw: Statewright
  readonly store: string
  readonly start: (
    given: Partial<GoalSubmission> & { tasks?: readonly object[] },
  ) => ReturnType<Statewright['goals']['start']>
  /** The goal when nothing moves by itself any more. */
  readonly rests: (goal_id: string) => ReturnType<Statewright['goals']['show']>
  readonly runes: (session_id: string, ...kinds: readonly string[]) => Promise<readonly Recorded[]>
}

interface Recorded {
  readonly kind: string
  readonly visibility: string
  readonly task_id?: string
  readonly agent_id?: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** A program that works towards goals, on a store and a registry of its own. */
async function working(
  agents: Readonly<Record<string, Agent>>,
  play: (stage: Stage) => Promise<void>,
  max_concurrent_runs = 64,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-goals-'))
  const store = `sqlite:${join(folder, 'goals.db')}`
  const registry = writeRegistry(folder, goalContent)
  const sw = await createStatewright({
    store,
    agents,
    plans: { registry },
    maxConcurrentRuns: max_concurrent_runs,
    warn: () => {},
  })
  try {
    await play({
      sw,
      store,
      start: ({ tasks, ...given }) =>
        sw.goals.start({
          goal: 'Two notes',
          auto: true,
          ...(tasks === undefined ? {} : { plan: JSON.parse(JSON.stringify({ tasks })) }),
          ...given,
        }),
      async rests(goal_id) {
        await sw.idle()
        return sw.goals.show(goal_id)
      },
      async runes(session_id, ...kinds) {
        const all = (await sw.runelog.read(session_id)) as readonly Recorded[]
        return all.filter(({ kind }) => kinds.includes(kind))
      },
    })
  } finally {
    await sw.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

scenario('GO-02', 'each rune of a plan is written where its table says, with its payload', () =>
  working(
    { worker: worker(), critic: critic({ findings: [finding('ta')] }, content) },
    async ({ start, rests, runes, sw }) => {
      // GIVEN a goal whose critic finds something once
      const { goalId, sessionId } = await start({ tasks: [note('ta'), note('tb', 'ta')], critic: 'critic' })
      const { state, plan_id } = await rests(goalId)
      expect(state).toBe('goal_met')
      // THEN the log has a rune of every kind in the table, each with what the table says
      const payloads = async (kind: string) => (await runes(sessionId, kind)).map(({ payload }) => payload)
      expect(await payloads('plan.goal_received')).toMatchObject([{ goal_description: 'Two notes' }])
      expect(await payloads('plan.created')).toMatchObject([{ plan_id, tasks: [{ key: 'ta' }, { key: 'tb' }] }])
      const tasks = (await runes(sessionId, 'task.opened')).map(({ task_id }) => task_id)
      expect(tasks).toHaveLength(3)
      expect(await payloads('plan.updated')).toEqual([
        { plan_id, changes: { change: 'tasks_added', task_ids: tasks.slice(2) } },
      ])
      for (const kind of ['plan.task_assigned', 'plan.task_started', 'plan.task_completed'])
        expect((await payloads(kind)).map(({ task_id }) => task_id)).toEqual(tasks)
      const agents = (await runes(sessionId, 'agent.spawning')).map(({ agent_id }) => agent_id)
      for (const { agent_id } of await payloads('plan.task_assigned')) expect(agents).toContain(agent_id)
      expect((await payloads('plan.task_completed'))[0]).toMatchObject({
        result: 'ta is done',
        evidence: [{ run_id: expect.stringMatching(/^run_/) }],
      })
      expect(await payloads('plan.critique')).toMatchObject([
        { plan_id, findings: [{ severity: 'error' }] },
        { plan_id, findings: [] },
      ])
      expect(await payloads('plan.goal_met')).toMatchObject([{ plan_id, summary: 'All is well.' }])
      // AND one that is given up says why
      const given = await start({ auto: false, tasks: [note('ta')] })
      await sw.goals.cancel(given.goalId, 'never mind')
      expect(await runes(given.sessionId, 'plan.stopped')).toMatchObject([{ payload: { reason: 'never mind' } }])
    },
  ),
)

scenario(
  'GO-03',
  'planning turns a goal into tasks with dependencies, priorities and owners; a rejected plan is revised',
  () => {
    const drafts = [
      { tasks: [{ ...note('ta'), command: 'cmd_deploy' }] },
      { tasks: [note('ta'), { ...note('tb', 'ta'), owner: 'builder', priority: 'critical' }] },
      { tasks: [note('ta')] },
    ]
    return working(
      { worker: worker(), builder: worker(), planner: planner(...drafts) },
      async ({ start, rests, runes, sw }) => {
        // GIVEN a planner whose first draft the rules deny
        const { goalId, sessionId } = await start({ auto: false, planner: 'planner' })
        const planned = await rests(goalId)
        // THEN its second one waits for a person, with everything in it, and nothing runs
        expect(planned).toMatchObject({
          state: 'planning',
          tasks: [
            { task: 'ta', owner: 'worker', priority: 'medium', state: 'pending', depends_on: [] },
            { task: 'tb', owner: 'builder', priority: 'critical', depends_on: [planned.tasks[0]?.task_id] },
          ],
        })
        expect(await runes(sessionId, 'plan.task_assigned')).toEqual([])
        // WHEN a person rejects it THEN the planner revises it with the reason, and what is approved is what runs
        await sw.goals.reject(goalId, { reason: 'one note is enough', repliedBy: 'mia' })
        expect(await rests(goalId)).toMatchObject({ state: 'planning', tasks: [{ task: 'ta' }] })
        const told = (await runes(sessionId, 'run.submitted')).map(({ payload }) => JSON.stringify(payload.input))
        expect(told.at(-1)).toContain('one note is enough')
        await sw.goals.approve(goalId)
        expect(await rests(goalId)).toMatchObject({ state: 'goal_met', tasks: [{ task: 'ta', state: 'completed' }] })
      },
    )
  },
)

scenario('GO-04', 'tasks that can run are given to free agents, which work by themselves', () => {
  const held = heldLook()
  const look = (id: string, more: object = {}) => ({ ...note(id), command: 'cmd_look', ...more })
  const parts = Object.fromEntries(
    ['ta', 'tb', 'tc', 'td'].map((id) => [id, [call('shop.look'), say(`${id} is done`)]]),
  )
  return working({ worker: worker(parts, [held.tool]) }, async ({ start, runes, sw }) => {
    // GIVEN four tasks, of which one is urgent and one comes last, and two places
    const tasks = [
      look('ta'),
      look('tb'),
      look('tc', { priority: 'critical' }),
      look('td', { depends_on: ['ta', 'tc'] }),
    ]
    const { goalId, sessionId } = await start({ tasks, maxParallel: 2 })
    const states = async () =>
      Object.fromEntries((await sw.goals.show(goalId)).tasks.map(({ task, state }) => [task, state]))
    // THEN the urgent one and the oldest are worked on at once, each by an agent of its own
    await expect.poll(() => held.begun()).toBe(2)
    expect(await states()).toEqual({ ta: 'running', tb: 'pending', tc: 'running', td: 'pending' })
    const given = async () => (await runes(sessionId, 'plan.task_assigned')).map(({ payload }) => payload)
    expect(new Set((await given()).map(({ agent_id }) => agent_id)).size).toBe(2)
    // AND each that ends makes room, and what depends on others waits for all of them
    for (const n of [3, 4]) {
      held.release()
      await expect.poll(() => held.begun()).toBe(n)
    }
    held.release()
    held.release()
    expect(await sw.goals.result(goalId)).toMatchObject({ state: 'goal_met' })
    const { tasks: done } = await sw.goals.show(goalId)
    const order = (await given()).map(({ task_id }) => done.find((task) => task.task_id === task_id)?.task)
    expect(order).toEqual(['tc', 'ta', 'tb', 'td'])
    expect(done.map(({ result }) => result)).toEqual(['ta is done', 'tb is done', 'tc is done', 'td is done'])
  })
})

scenario('GO-05', 'a critic reviews in writing that stays internal, and causes retries', () => {
  const secret = 'The lamp is upside down'
  const right = (asked: string) => [say(asked.includes(secret) ? 'ta is right' : 'ta is wrong')]
  return working(
    { worker: worker({ ta: right }), critic: critic({ findings: [finding('ta', secret)] }, content) },
    async (stage) => {
      const { goalId, sessionId } = await stage.start({ tasks: [note('ta')], critic: 'critic' })
      // THEN what was wrong was done again, told of the finding
      expect(await stage.rests(goalId)).toMatchObject({
        state: 'goal_met',
        iterations: 2,
        tasks: [{ result: 'ta is wrong' }, { result: 'ta is right' }],
      })
      const critiques = await stage.runes(sessionId, 'plan.critique')
      expect(critiques).toMatchObject([
        {
          visibility: 'internal',
          payload: { findings: [{ severity: 'error', category: 'correctness', title: secret }] },
        },
        { visibility: 'internal' },
      ])
      // AND what readers are shown of the session says nothing of it; those who may look do see it
      await stage.sw.close()
      const events = await runToEnd(['show', sessionId, '--events', '--json', '--store', stage.store])
      expect(events.out).toContain('ta is wrong')
      expect(events.out).not.toContain(secret)
      const critique = await runToEnd(['goal', 'critique', goalId, '--store', stage.store])
      expect(critique.out).toContain(secret)
    },
  )
})

scenario('GO-05', 'a failure that no retry can repair causes a new plan', () =>
  working(
    {
      worker: worker(),
      planner: planner({ tasks: [note('ta')] }, { tasks: [note('tz')] }),
      critic: critic({ needs_replan: true, findings: [{ ...finding('ta'), task: null }] }, content),
    },
    async ({ start, rests }) => {
      const { goalId } = await start({ planner: 'planner', critic: 'critic' })
      expect(await rests(goalId)).toMatchObject({ state: 'goal_met', tasks: [{ task: 'tz' }] })
    },
  ),
)

scenario('GO-06', 'the loop stops when the goal is met, the budget is used up, or the user cancels', () => {
  const looks = [call('shop.look', { n: 1 }), call('shop.look', { n: 2 }), say('ta is done')]
  const held = heldLook()
  return working(
    { worker: worker({ ta: looks, tb: [form, say('tb is done')] }, [held.tool]) },
    async ({ start, rests, sw }) => {
      const met = await start({ tasks: [note('tc')] })
      expect(await rests(met.goalId)).toMatchObject({ state: 'goal_met', ended_at: expect.any(Number) })
      // WHEN a goal may make one call, and its task wants two
      const look = { ...note('ta'), command: 'cmd_look' }
      const poor = await start({ tasks: [look], budget: { toolCalls: 1 } })
      await expect.poll(() => held.begun()).toBe(1)
      held.release()
      const stopped = await rests(poor.goalId)
      expect(stopped).toMatchObject({
        state: 'stopped',
        reason: expect.stringMatching(/tool call/),
        used: { tool_calls: 1 },
      })
      expect(held.begun()).toBe(1)
      // WHEN the user gives one up in the middle THEN everything that is under way for it stops
      const busy = await start({ tasks: [look] })
      await expect.poll(() => held.begun()).toBe(2)
      await sw.goals.cancel(busy.goalId, 'enough')
      expect(await rests(busy.goalId)).toMatchObject({
        state: 'stopped',
        reason: 'enough',
        tasks: [{ state: 'cancelled' }],
      })
    },
  )
})

scenario('GO-06', 'a block is resolved by its answer, or stops the loop when it cannot be', () =>
  working({ worker: worker({ ta: [form, say('ta is done')] }) }, async ({ start, rests, sw }) => {
    const tasks = [note('ta')]
    const [answered, refused, late] = [
      await start({ tasks }),
      await start({ tasks }),
      await start({ tasks, maxBlockedMs: 300 }),
    ]
    const waiting = await rests(answered.goalId)
    expect(waiting).toMatchObject({ state: 'blocked', waits_for: [{ prompt: 'Which size?' }] })
    await sw.inbox.reply(waiting.waits_for[0]?.interaction_id ?? '', { reply: sized })
    expect(await rests(answered.goalId)).toMatchObject({ state: 'goal_met' })
    await sw.goals.reject(refused.goalId, { reason: 'not known' })
    expect(await rests(refused.goalId)).toMatchObject({
      state: 'stopped',
      reason: expect.stringContaining('not known'),
    })
    expect(await sw.goals.result(late.goalId)).toMatchObject({
      state: 'stopped',
      reason: expect.stringMatching(/blocked/),
    })
    expect(await sw.inbox.list()).toEqual([])
  }),
)

scenario('GO-06', 'cancelling a goal cancels its planned, assigned and running tasks', () => {
  const held = heldLook()
  const looks = { ta: [call('shop.look'), say('ta is done')], tb: [call('shop.look'), say('tb is done')] }
  const look = (id: string) => ({ ...note(id), command: 'cmd_look' })
  return working(
    { worker: worker(looks, [held.tool]) },
    async ({ start, rests, sw }) => {
      // GIVEN one place for work: one task is at work, one has an agent that waits for the place, and one comes later
      const { goalId } = await start({ tasks: [look('ta'), look('tb'), note('tc', 'tb')] })
      const states = async () => (await sw.goals.show(goalId)).tasks.map(({ state }) => state)
      await expect.poll(states).toEqual(['running', 'assigned', 'pending'])
      // WHEN the goal is given up THEN none of them goes on
      await sw.goals.cancel(goalId, 'enough')
      expect(await rests(goalId)).toMatchObject({
        state: 'stopped',
        tasks: [{ state: 'cancelled' }, { state: 'cancelled' }, { state: 'cancelled' }],
      })
      expect(held.begun()).toBe(1)
    },
    1,
  )
})
