import { expect, test } from 'vitest'
import { sessions } from '../../src/runelog/models.ts'
import { breakOff, call, say } from '../../src/runtime/scripted-model.ts'
import { registryIn } from '../support/goal-registry.ts'
import { scenario } from '../support/scenario.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { content, critic, goalEdges, goalMoves, note, payTool, planner, planOf, worker } from './goal-cast.ts'
import { goalStopPlays } from './goal-stops.ts'
import type { Store } from './stores.ts'
import { heldTool, on, type Props, type Theatre } from './theatre.ts'

const error = (task: string | null, title = 'It is wrong') => ({ severity: 'error', title, description: 'See.', task })

/** Specification 002, Autonomy Loop: plan, execute, review, until met or stopped. */
export function goalPlays(store: Store) {
  const registry = registryIn(scratchFolder('goals').fresh())
  const taken = new Set<string>()

  /** A play whose goal edges count. */
  const goalPlay = (props: Omit<Props, 'plans'>, act: (t: Theatre) => Promise<void>) =>
    on(store, { plans: { registry }, ...props }, async (t) => {
      await act(t)
      for (const { key } of await t.rows(sessions)) for (const edge of goalMoves(await t.runes(key))) taken.add(edge)
    })
  const ended = async (t: Theatre, goal_id: string) => {
    await t.sw.idle()
    return t.sw.goals.show(goal_id)
  }

  scenario(
    'GO-02',
    'each row of the table is recorded, with its payload',
    goalPlay({ agents: { worker: worker(), critic: critic({ findings: [error('ta')] }, content) } }, async (t) => {
      // GIVEN a goal whose critic finds something once
      const { goalId, sessionId } = await t.sw.goals.start({
        goal: 'Two notes',
        auto: true,
        critic: 'critic',
        plan: planOf(note('ta'), note('tb', 'ta')),
      })
      // WHEN it is worked on until it is met
      const { state, plan_id } = await ended(t, goalId)
      expect(state).toBe('goal_met')

      // THEN the log has a rune of every kind in the table, and each says what the table says
      const runes = await t.runes(sessionId)
      const payloads = (kind: string) => runes.filter((r) => r.kind === kind).map((r) => r.payload)
      expect(payloads('plan.goal_received')).toMatchObject([{ goal_description: 'Two notes' }])
      expect(payloads('plan.created')).toMatchObject([{ plan_id, tasks: [{ key: 'ta' }, { key: 'tb' }] }])
      expect(payloads('plan.updated')).toMatchObject([{ plan_id, changes: { change: 'tasks_added' } }])
      const tasks = runes.filter((r) => r.kind === 'task.opened').map((r) => r.task_id)
      expect(tasks).toHaveLength(3)
      for (const kind of ['plan.task_assigned', 'plan.task_started', 'plan.task_completed'])
        expect(payloads(kind).map((p) => (p as { task_id: string }).task_id)).toEqual(tasks)
      const agents = runes.filter((r) => r.kind === 'agent.spawning').map((r) => r.agent_id)
      for (const { agent_id } of payloads('plan.task_assigned') as { agent_id: string }[])
        expect(agents).toContain(agent_id)
      expect(payloads('plan.task_completed')[0]).toMatchObject({
        result: 'ta is done',
        evidence: [{ run_id: expect.stringMatching(/^run_/) }],
      })
      expect(payloads('plan.critique')).toMatchObject([
        { plan_id, findings: [{ severity: 'error' }] },
        { findings: [] },
      ])
      expect(payloads('plan.goal_met')).toEqual([{ plan_id, summary: 'All is well.' }])
      const cancelled = await t.sw.goals.start({ goal: 'Nothing', plan: planOf(note('ta')) })
      await t.sw.goals.cancel(cancelled.goalId, 'never mind')
      const stopped = await t.of(cancelled.sessionId, 'plan.stopped')
      expect(stopped.map((r) => r.payload)).toEqual([{ reason: 'never mind', cause: 'cancelled' }])
    }),
  )

  scenario(
    'GO-03',
    'a goal becomes tasks with dependencies, priorities and owners; a rejected plan is revised',
    goalPlay(
      {
        warnings: ['a plan was aborted; a person has to look'],
        agents: {
          worker: worker(),
          builder: worker(),
          planner: planner(
            { tasks: [{ ...note('ta'), command: 'cmd_deploy' }] },
            planOf(note('ta'), { ...note('tb', 'ta'), owner: 'builder', priority: 'critical' }),
            planOf(note('ta')),
          ),
        },
      },
      async (t) => {
        // GIVEN a planner whose first draft the rules deny
        const { goalId, sessionId } = await t.sw.goals.start({ goal: 'A plan', planner: 'planner' })
        await t.sw.idle()
        // THEN it was told why, and its second draft waits for a person, with everything in it
        const asked = (await t.of(sessionId, 'run.submitted')).map((r) => String(r.payload.input))
        expect(asked).toHaveLength(2)
        expect(asked[1]).toContain('rule_denied')
        expect(await t.sw.goals.show(goalId)).toMatchObject({
          state: 'planning',
          tasks: [
            { task: 'ta', owner: 'worker', priority: 'medium', state: 'pending' },
            { task: 'tb', owner: 'builder', priority: 'critical', depends_on: [expect.stringMatching(/^tsk_/)] },
          ],
        })
        expect(await t.of(sessionId, 'plan.task_assigned')).toEqual([])

        // WHEN a person rejects it
        await t.sw.goals.reject(goalId, { reason: 'one note is enough', repliedBy: 'mia' })
        await t.sw.idle()
        // THEN the planner revises it with the reason, and what is approved is what runs
        const again = (await t.of(sessionId, 'run.submitted')).at(-1)
        expect(String(again?.payload.input)).toContain('one note is enough')
        await t.sw.goals.approve(goalId, { repliedBy: 'mia' })
        const { state, tasks } = await ended(t, goalId)
        expect({ state, tasks: tasks.map(({ task }) => task) }).toEqual({ state: 'goal_met', tasks: ['ta'] })
      },
    ),
  )

  scenario(
    'GO-03',
    'a rejected plan is replaced by the one that came with the rejection; without a planner or a plan the goal is given up',
    goalPlay({ agents: { worker: worker() } }, async (t) => {
      const { goalId } = await t.sw.goals.start({ goal: 'By hand', plan: planOf(note('ta')) })
      await t.sw.idle()
      await t.sw.goals.reject(goalId, { reason: 'two of them', plan: planOf(note('tb'), note('tc')) })
      await t.sw.idle()
      expect((await t.sw.goals.show(goalId)).tasks.map(({ task }) => task)).toEqual(['tb', 'tc'])
      await t.sw.goals.reject(goalId, { reason: 'none at all' })
      expect(await ended(t, goalId)).toMatchObject({
        state: 'stopped',
        reason: expect.stringContaining('none at all'),
      })
      await expect(t.sw.goals.approve(goalId)).rejects.toMatchObject({ code: 'goal_not_waiting' })
    }),
  )

  const held = heldTool('shop.look', { readOnly: true })
  scenario(
    'GO-04',
    'runnable tasks go to free agents by priority and age, as many at once as there are places',
    goalPlay(
      {
        agents: {
          worker: worker(
            Object.fromEntries(
              ['ta', 'tb', 'tc', 'td'].map((task) => [task, [call('shop.look'), say(`${task} is done`)]]),
            ),
            { tools: [held.tool] },
          ),
        },
      },
      async (t) => {
        // GIVEN four tasks, of which one comes last and one is urgent, and two places
        const task = (id: string, more: object = {}) => ({ ...note(id), command: 'cmd_look', ...more })
        const { goalId, sessionId } = await t.sw.goals.start({
          goal: 'Look around',
          auto: true,
          maxParallel: 2,
          plan: planOf(
            task('ta'),
            task('tb'),
            task('tc', { priority: 'critical' }),
            task('td', { depends_on: ['ta', 'tc'] }),
          ),
        })
        await held.hasBegun(2)
        // THEN the urgent one and the oldest one are worked on, each by an agent of its own
        const states = async () =>
          Object.fromEntries((await t.sw.goals.show(goalId)).tasks.map(({ task, state }) => [task, state]))
        await t.until(sessionId, (r) => r.kind === 'plan.task_started' && r.event_id > 0)
        const running = () => t.of(sessionId, 'plan.task_assigned')
        expect(new Set((await running()).map((r) => r.payload.agent_id)).size).toBe(2)
        expect(await states()).toMatchObject({ tb: 'pending', td: 'pending' })
        // WHEN one of them ends THEN the next one begins, and what depends on both waits for both
        held.begun[0]?.resolve('seen')
        await held.hasBegun(3)
        expect(await states()).toMatchObject({ td: 'pending' })
        held.begun[1]?.resolve('seen')
        await held.hasBegun(4)
        held.begun[2]?.resolve('seen')
        held.begun[3]?.resolve('seen')
        expect((await ended(t, goalId)).state).toBe('goal_met')
        const order = (await running()).map((r) => r.task_id)
        const keys = (await t.sw.goals.show(goalId)).tasks
        expect(order.map((id) => keys.find(({ task_id }) => task_id === id)?.task)).toEqual(['tc', 'ta', 'tb', 'td'])
      },
    ),
  )

  const pay = payTool()
  scenario(
    'GO-04',
    'a task gets the tools of its command and nothing else; its arguments fit what was judged',
    goalPlay(
      {
        agents: {
          worker: worker(
            {
              ta: [call('shop.pay', { cents: 5 }), say('ta is done')],
              tb: [call('shop.pay', { cents: 500 }), call('shop.pay', { cents: 50 }), say('tb is done')],
            },
            { tools: [pay.tool] },
          ),
        },
      },
      async (t) => {
        // GIVEN a task that may use no tool, and one that may pay up to 100
        const { goalId, sessionId } = await t.sw.goals.start({
          goal: 'Pay',
          auto: true,
          plan: planOf(note('ta'), { ...note('tb', 'ta'), command: 'cmd_pay' }),
        })
        expect((await ended(t, goalId)).state).toBe('goal_met')
        // THEN what the plan does not cover was denied as outside of it, and never happened
        const denied = (await t.of(sessionId, 'tool.denied')).map((r) => r.payload.reason)
        expect(denied).toEqual([
          expect.stringMatching(/^outside_plan: .*no tool, and not shop\.pay/),
          expect.stringMatching(/^outside_plan: .*\/cents/),
        ])
        expect(pay.paid).toEqual([50])
      },
    ),
  )

  scenario(
    'GO-04',
    'a failed task resolves those that depend on it: skipped with the reason, or rerouted by the plan',
    goalPlay(
      {
        agents: {
          worker: worker({ ta: [breakOff('no', { retryable: false })], tc: [breakOff('no', { retryable: false })] }),
        },
      },
      async (t) => {
        const { goalId } = await t.sw.goals.start({
          goal: 'Around',
          auto: true,
          budget: { iterations: 1 },
          plan: planOf(note('ta'), note('tb', 'ta'), note('tc'), { ...note('td'), instead_of: 'tc' }, note('te', 'tc')),
        })
        const { state, reason, tasks } = await ended(t, goalId)
        const at = Object.fromEntries(tasks.map(({ task, state, reason }) => [task, { state, reason }]))
        expect(at).toMatchObject({
          ta: { state: 'failed', reason: 'no' },
          tb: { state: 'skipped', reason: 'It depends on ta, which failed.' },
          tc: { state: 'failed' },
          td: { state: 'completed' },
          te: { state: 'completed' },
        })
        expect({ state, reason }).toEqual({ state: 'stopped', reason: expect.stringContaining('ta failed') })
      },
    ),
  )

  scenario(
    'GO-05',
    'a critic writes a structured critique that only insiders see; its findings become tasks',
    goalPlay(
      {
        agents: {
          worker: worker({ ta: (asked) => [say(asked.includes('this was found') ? 'ta is right' : 'ta is wrong')] }),
          critic: critic(
            {
              findings: [
                { ...error('ta'), suggested_fix: 'Do it right.' },
                { severity: 'info', title: 'Fine', task: 'tb' },
              ],
            },
            { findings: [{ severity: 'warning', title: 'Could be nicer', task: 'ta' }] },
          ),
        },
      },
      async (t) => {
        const { goalId, sessionId } = await t.sw.goals.start({
          goal: 'Get it right',
          auto: true,
          critic: 'critic',
          plan: planOf(note('ta'), note('tb', 'ta')),
        })
        const { state, tasks, iterations } = await ended(t, goalId)
        // THEN the critique is internal, and names severity, category and task
        const critiques = await t.of(sessionId, 'plan.critique')
        expect(critiques.map((r) => r.visibility)).toEqual(['internal', 'internal'])
        expect(critiques[0]?.payload.findings).toMatchObject([
          { severity: 'error', category: 'correctness', task_id: expect.stringMatching(/^tsk_/) },
          { severity: 'info' },
        ])
        // AND what was wrong was done again, told of the finding; a warning about a follow-up is let be
        expect(tasks.map(({ task, state, result }) => [task, state, result])).toEqual([
          ['ta', 'completed', 'ta is wrong'],
          ['tb', 'completed', 'tb is done'],
          ['ta', 'completed', 'ta is right'],
        ])
        expect({ state, iterations }).toEqual({ state: 'goal_met', iterations: 2 })
      },
    ),
  )

  scenario(
    'GO-05',
    'goals: a problem that no retry can correct needs another plan',
    goalPlay(
      {
        agents: {
          worker: worker(),
          planner: planner(planOf(note('ta')), planOf(note('tz'))),
          critic: critic({ needs_replan: true, findings: [error(null, 'The wrong way')] }, content),
        },
      },
      async (t) => {
        const { goalId, sessionId } = await t.sw.goals.start({
          goal: 'Think again',
          auto: true,
          planner: 'planner',
          critic: 'critic',
        })
        const { state, tasks } = await ended(t, goalId)
        expect({ state, tasks: tasks.map(({ task }) => task) }).toEqual({ state: 'goal_met', tasks: ['tz'] })
        const inputs = (await t.of(sessionId, 'run.submitted')).map((r) => String(r.payload.input))
        const revised = inputs.filter((input) => input.includes('The last plan has to be revised.'))
        expect(revised).toHaveLength(1)
        const briefed = await t.of(sessionId, 'run.briefed')
        expect(briefed).toMatchObject([
          { visibility: 'internal', payload: { text: expect.stringContaining('The wrong way') } },
        ])
      },
    ),
  )

  goalStopPlays(goalPlay, ended)

  test('goals: every edge of the goal machine is taken through the public interface', () => {
    expect(goalEdges.filter((edge) => !taken.has(edge))).toEqual([])
    expect([...taken].filter((edge) => !goalEdges.includes(edge))).toEqual([])
  })
}
