import { expect } from 'vitest'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { note, planner, planOf, worker } from './goal-cast.ts'
import { chosen, form } from './props.ts'
import { heldTool, type on, type Props, type Theatre } from './theatre.ts'

type GoalPlay = (props: Omit<Props, 'plans'>, act: (t: Theatre) => Promise<void>) => ReturnType<typeof on>
type Ended = (t: Theatre, goal_id: string) => ReturnType<Theatre['sw']['goals']['show']>

/** Every way in which a goal ends without being met. */
export function goalStopPlays(goalPlay: GoalPlay, ended: Ended) {
  const stopped = (reason: string) => ({ state: 'stopped', reason: expect.stringContaining(reason) })
  const asks = { ta: [form, say('ta is done')] }

  scenario(
    'GO-06',
    'blocked: what waits for a person blocks the goal, and the answer lets it go on',
    goalPlay({ agents: { worker: worker(asks) } }, async (t) => {
      const { goalId } = await t.sw.goals.start({ goal: 'Ask', auto: true, plan: planOf(note('ta'), note('tb')) })
      await t.sw.idle()
      const waiting = await t.sw.goals.show(goalId)
      expect(waiting).toMatchObject({ state: 'blocked', tasks: [{ state: 'blocked' }, { state: 'completed' }] })
      await t.reply((waiting.waits_for[0] as { interaction_id: string }).interaction_id, chosen)
      expect((await ended(t, goalId)).state).toBe('goal_met')
    }),
  )

  scenario(
    'GO-06',
    'blocked: a session that is paused blocks its goal, and goes on with it',
    goalPlay({ agents: { worker: worker() } }, async (t) => {
      const { goalId, sessionId } = await t.sw.goals.start({ goal: 'Pause', plan: planOf(note('ta')) })
      await t.sw.idle()
      await t.sw.sessions.pause(sessionId)
      await t.sw.goals.approve(goalId)
      await t.sw.idle()
      expect(await t.sw.goals.show(goalId)).toMatchObject({ state: 'blocked', reason: 'The session is paused.' })
      await t.sw.sessions.resume(sessionId)
      expect((await ended(t, goalId)).state).toBe('goal_met')
      // AND closing it gives up what is under way
      const next = await t.sw.goals.start({ goal: 'Close', sessionId, plan: planOf(note('tb')) })
      await t.sw.idle()
      await t.sw.sessions.close(sessionId, 'enough')
      expect(await ended(t, next.goalId)).toMatchObject(stopped('enough'))
    }),
  )

  scenario(
    'GO-06',
    'what cannot be planned with stops the goal and says why, instead of trying for ever',
    goalPlay({ agents: { worker: worker(), planner: planner(planOf(note('ta'))) } }, async (t) => {
      await t.restart({ plans: {} })
      const given = await t.sw.goals.start({ goal: 'Given', plan: planOf(note('ta')) })
      const drafted = await t.sw.goals.start({ goal: 'Drafted', planner: 'planner' })
      for (const { goalId } of [given, drafted])
        expect(await ended(t, goalId)).toMatchObject(stopped('name a folder as plans.registry'))
      const strange = t.sw.goals.start({ goal: 'Strange', plan: { tasks: 'none' } })
      await expect(strange).rejects.toMatchObject({ code: 'bad_definition' })
      await expect(t.sw.goals.start({ goal: 'x' })).rejects.toMatchObject({ code: 'bad_definition' })
      await expect(t.sw.goals.start({ goal: '', plan: {} })).rejects.toMatchObject({ code: 'bad_definition' })
      const unknown = t.sw.goals.start({ goal: 'x', planner: 'stranger' })
      await expect(unknown).rejects.toMatchObject({
        code: 'bad_definition',
        message: expect.stringContaining('stranger'),
      })
    }),
  )

  scenario(
    'GO-06',
    'review gates are approvals: passed they let the work begin, refused they end what is behind them',
    goalPlay({ agents: { worker: worker() } }, async (t) => {
      const plan = planOf({ ...note('tw'), command: 'cmd_write' })
      const first = await t.sw.goals.start({ goal: 'Write', auto: true, plan })
      await t.sw.idle()
      expect(await t.sw.goals.show(first.goalId)).toMatchObject({
        state: 'blocked',
        waits_for: [{ interaction_kind: 'approval' }],
      })
      const [reviewed] = (await t.sw.goals.show(first.goalId)).tasks.filter(({ kind }) => kind === 'review')
      await t.sw.goals.approve(first.goalId, { task: reviewed?.task ?? '' })
      expect((await ended(t, first.goalId)).state).toBe('goal_met')

      const second = await t.sw.goals.start({ goal: 'Write more', auto: true, plan })
      await t.sw.idle()
      const { tasks } = await t.sw.goals.show(second.goalId)
      const gate = tasks.find(({ kind }) => kind === 'review')?.task ?? ''
      await t.sw.goals.reject(second.goalId, { task: gate, reason: 'not today' })
      const end = await ended(t, second.goalId)
      expect(end).toMatchObject(stopped('not today'))
      expect(end.tasks.map(({ state }) => state)).toEqual(['failed', 'skipped'])
    }),
  )

  scenario(
    'GO-06',
    'unresolvable: a person says that what it waits for will not come, or no person comes in time',
    goalPlay({ agents: { worker: worker(asks) } }, async (t) => {
      const plan = planOf(note('ta'))
      const first = await t.sw.goals.start({ goal: 'Ask', auto: true, plan })
      const second = await t.sw.goals.start({ goal: 'Ask', auto: true, plan, maxBlockedMs: 60_000 })
      await t.sw.idle()
      await t.sw.goals.reject(first.goalId, { reason: 'not known' })
      expect(await ended(t, first.goalId)).toMatchObject(stopped('not known'))
      await t.hand.advance(60_000)
      expect(await ended(t, second.goalId)).toMatchObject(stopped('blocked for 60000 ms'))
      for (const { sessionId } of [first, second]) {
        const [run] = (await t.of(sessionId, 'run.moved')).slice(-1)
        expect(run?.to).toBe('canceled')
      }
      expect(await t.sw.inbox.list()).toEqual([])
    }),
  )

  const held = heldTool('shop.look', { readOnly: true })
  const slow = { ta: [call('shop.look'), say('ta is done')] }
  const busy = { ...note('ta'), command: 'cmd_look' }
  scenario(
    'GO-06',
    'user cancel: from every state, and everything that is under way stops with it',
    goalPlay(
      {
        agents: {
          worker: worker(slow, { tools: [held.tool] }),
          asker: worker(asks),
          critic: worker({}, { model: { id: 'silent', stream: silent } }),
        },
        settings: { cancelGraceMs: 0 },
      },
      async (t) => {
        // GIVEN goals in planning, executing, reviewing and blocked
        const planning = await t.sw.goals.start({ goal: 'Plan', plan: planOf(note('tb')) })
        const executing = await t.sw.goals.start({ goal: 'Run', auto: true, plan: planOf(busy, note('tb', 'ta')) })
        const reviewing = await t.sw.goals.start({
          goal: 'See',
          auto: true,
          critic: 'critic',
          plan: planOf(note('tb')),
        })
        await held.hasBegun()
        await t.until(reviewing.sessionId, (r) => r.to === 'reviewing')
        await t.until(planning.sessionId, (r) => r.kind === 'interaction.opened')
        const blocked = await t.sw.goals.start({
          goal: 'Ask',
          auto: true,
          plan: planOf({ ...note('tw'), command: 'cmd_write' }),
        })
        await t.until(blocked.sessionId, (r) => r.to === 'blocked' && r.machine === 'goal')
        const all = [planning, executing, reviewing, blocked]
        const before = await Promise.all(all.map(async ({ goalId }) => (await t.sw.goals.show(goalId)).state))
        expect(before).toEqual(['planning', 'executing', 'reviewing', 'blocked'])

        // WHEN they are cancelled THEN each is stopped, once, and nothing of it goes on
        for (const { goalId } of all) expect(await t.sw.goals.cancel(goalId, 'enough')).toBe(true)
        for (const { goalId } of all) expect(await t.sw.goals.cancel(goalId)).toBe(false)
        held.begun[0]?.resolve('late')
        await t.passTime()
        for (const { goalId, sessionId } of all) {
          expect(await t.sw.goals.show(goalId)).toMatchObject({ ...stopped('enough'), waits_for: [] })
          expect((await t.of(sessionId, 'agent.terminated')).length).toBe(
            (await t.of(sessionId, 'agent.spawning')).length,
          )
        }
        expect(await t.sw.inbox.list()).toEqual([])
      },
    ),
  )

  scenario(
    'GO-06',
    'user cancel: a goal that no process works on yet is given up before it is planned',
    goalPlay({ agents: { worker: worker() } }, async (t) => {
      await t.restart({ maxConcurrentRuns: 0 })
      const { goalId } = await t.sw.goals.start({ goal: 'Later', plan: planOf(note('ta')) })
      expect((await t.sw.goals.show(goalId)).state).toBe('goal_received')
      await t.sw.goals.cancel(goalId, 'never mind')
      expect(await t.sw.goals.show(goalId)).toMatchObject({ ...stopped('never mind'), cause: 'cancelled' })
    }),
  )

  const hung = heldTool('shop.pay', { irreversible: true })
  const pays = { ta: [call('shop.pay', { cents: 7 }), say('ta is done')] }
  for (const mode of ['interactive', 'auto'] as const)
    scenario(
      'GO-06',
      `an unknown outcome blocks its task and does not fail it (${mode})`,
      goalPlay(
        {
          warnings: ['a goal could not go on', 'a worker stopped'],
          agents: { worker: worker(pays, { tools: [hung.tool] }) },
        },
        async (t) => {
          // GIVEN a payment that was under way when its process was killed
          const phase = 'implementation'
          const plan = planOf(
            { ...note('ta'), command: 'cmd_pay' },
            { ...note('tb', 'ta'), phase },
            { ...note('tc'), phase },
          )
          const before = hung.begun.length
          const { goalId, sessionId } = await t.sw.goals.start({ goal: 'Pay', auto: true, mode, plan })
          await hung.hasBegun(before + 1)
          await t.kill()
          await t.sw.idle()
          // THEN its task is blocked, the rest went on, and the goal waits for someone who knows
          const waiting = await t.sw.goals.show(goalId)
          expect(waiting).toMatchObject({
            state: 'blocked',
            tasks: [{ state: 'blocked' }, { state: 'pending' }, { state: 'completed' }],
            waits_for: [{ interaction_kind: 'settlement', task_id: waiting.tasks[0]?.task_id }],
          })
          // WHEN a person settles it THEN the task goes on, in a new run where the first one is over, and pays no more
          await t.reply(waiting.waits_for[0]?.interaction_id ?? '', { outcome: 'happened', result: { paid: 7 } })
          expect((await ended(t, goalId)).state).toBe('goal_met')
          const tried = (await t.of(sessionId, 'run.submitted')).filter((r) => r.task_id === waiting.tasks[0]?.task_id)
          expect(tried).toHaveLength(mode === 'auto' ? 2 : 1)
          expect(hung.begun.length).toBe(before + 1)
        },
      ),
    )

  const usage = { inputTokens: 50, outputTokens: 50 }
  scenario(
    'GO-06',
    'budget exhausted: tokens, tool calls, cost and drafts end a goal wherever it is',
    goalPlay(
      {
        agents: {
          worker: worker({ ta: [{ ...call('shop.look'), usage }, say('ta is done')] }),
          dear: worker({}, { price: { inputUsdPerMillion: 1e4, outputUsdPerMillion: 1e4 } }),
          planner: planner({ tasks: [] }),
          drafter: planner(planOf(note('tb'))),
          critic: worker({}, { model: { id: 'chatty', stream: chatty } }),
        },
      },
      async (t) => {
        const plan = planOf(busy, note('tb', 'ta'))
        const goals = t.sw.goals
        // WHEN each limit is met by someone who works for the goal
        const tokens = await goals.start({ goal: 'Tokens', auto: true, plan, budget: { tokens: 100 } })
        const calls = await goals.start({ goal: 'Calls', auto: true, plan, budget: { toolCalls: 0 } })
        const cost = await goals.start({
          goal: 'Cost',
          auto: true,
          planner: 'dear',
          plan: planOf({ ...note('tb'), owner: 'worker' }),
          budget: { costUsd: 0 },
        })
        const drafts = await goals.start({ goal: 'Drafts', auto: true, planner: 'planner', maxDrafts: 2 })
        const critique = await goals.start({
          goal: 'Critic',
          auto: true,
          critic: 'critic',
          plan: planOf(note('tb')),
          budget: { tokens: 3 },
        })
        const rejected = await goals.start({ goal: 'Rejected', planner: 'drafter', maxDrafts: 1 })
        await t.sw.idle()
        await goals.reject(rejected.goalId)
        await t.sw.idle()
        // THEN it stops and says which
        expect(await goals.show(tokens.goalId)).toMatchObject(stopped('of 100 tokens'))
        expect(await goals.show(calls.goalId)).toMatchObject(stopped('of 0 tool calls'))
        expect(await goals.show(cost.goalId)).toMatchObject(stopped('US dollars'))
        expect(await goals.show(drafts.goalId)).toMatchObject(stopped('2 drafts'))
        expect(await goals.show(critique.goalId)).toMatchObject(stopped('tokens'))
        expect(await goals.show(rejected.goalId)).toMatchObject(stopped('1 drafts'))
        expect((await goals.show(tokens.goalId)).used.tokens).toBe(100)
        expect((await goals.list()).map(({ state }) => state)).toEqual(Array(6).fill('stopped'))
      },
    ),
  )

  scenario(
    'GO-06',
    'budget exhausted: time passes while it waits, across a restart',
    goalPlay({ warnings: ['a goal could not go on'], agents: { worker: worker(asks) } }, async (t) => {
      const { goalId } = await t.sw.goals.start({
        goal: 'Wait',
        auto: true,
        plan: planOf(note('ta')),
        budget: { wallTimeMs: 90_000 },
      })
      await t.sw.idle()
      await t.hand.advance(60_000)
      await t.kill()
      await t.sw.idle()
      expect((await t.sw.goals.show(goalId)).state).toBe('blocked')
      await t.hand.advance(30_000)
      expect(await ended(t, goalId)).toMatchObject(stopped('90000 of 90000 ms'))
    }),
  )
}

async function* silent(_request: unknown, signal: AbortSignal): AsyncGenerator<never> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** It calls a tool it does not have, so that it needs a second step, which its goal cannot pay for. */
async function* chatty() {
  yield { type: 'tool_call', name: 'shop.look', arguments: {} } as const
  yield { type: 'usage', inputTokens: 5, outputTokens: 5 } as const
  yield { type: 'done', finish: 'tool_calls' } as const
}
