import { expect } from 'vitest'
import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import type { Agent } from '../../src/runtime/define-agent.ts'
import { call, say, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form, minute } from './props.ts'
import type { Store } from './stores.ts'
import { heldTool, lookUp, ofEach, on, plays } from './theatre.ts'

/** Three steps: each answer of the model takes two tokens, each step a tool call. */
const threeSteps = [...ofEach(3, (n) => call('shop.look_up', { n })), say('Done.')]

/** In the first rounds, each caller waits until all are there. */
function meeting(everyone: number, rounds: number): (round: number) => Promise<void> {
  const met = ofEach(rounds, () => ({ there: 0, all: Promise.withResolvers<void>() }))
  return async (round) => {
    const here = met[round]
    if (here === undefined) return
    here.there += 1
    if (here.there === everyone) here.all.resolve()
    await here.all.promise
  }
}

/** Specification 002, INV-AGENT-BUDGET: tokens, tool calls and time of agents, runs and sessions. */
export function budgetPlays(store: Store) {
  const limits = [
    ['tokens', { tokens: 4 }, '4 of 4 tokens', { tokens: 4, tool_calls: 2 }],
    [
      'tool calls',
      { toolCalls: 2 },
      '2 of 2 tool calls are made, and the next step needs 1 more',
      { tokens: 6, tool_calls: 2 },
    ],
  ] as const
  for (const [what, budget, reason, used] of limits) {
    scenario(
      'AG-04',
      `an agent that has used up its ${what} ends its turn and is terminated`,
      on(store, { agents: { main: plays(threeSteps, { tools: [lookUp], budget }) } }, async (t) => {
        // WHEN an agent needs more than its budget allows, with another message in its queue
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        const { sessionId } = run
        const behind = await t.sw.runs.start({ agent: 'main', input: 'And then?', sessionId })
        await t.sw.idle()

        // THEN it stopped before the step that goes over, and everything says why
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(2)
        expect(await t.of(sessionId, 'turn.interrupted')).toMatchObject([{ payload: { reason: 'budget_exhausted' } }])
        expect(await t.of(sessionId, 'agent.terminated')).toMatchObject([
          {
            from: 'idle',
            trigger: 'budget_exhausted',
            payload: { reason: expect.stringContaining(reason), stats: { tokens: 4, tool_calls: 2 } },
          },
        ])
        expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'BUDGET_EXHAUSTED' })
        expect(await behind.result()).toMatchObject({ status: 'failed', errorCode: 'AGENT_TERMINATED' })
        expect((await t.sw.runs.show(run.runId)).used).toMatchObject(used)
        expect((await t.sw.sessions.list())[0]?.state).toBe('active')
      }),
    )

    scenario(
      'AG-04',
      `a run that has used up its ${what} fails, and its agent does not`,
      on(store, { agents: { main: plays(threeSteps, { tools: [lookUp] }) } }, async (t) => {
        // WHEN a run needs more than its budget allows
        const run = await t.run({ budget })

        // THEN the run fails with the reason, and the agent takes the next one
        const result = await run.result()
        expect(result).toMatchObject({ status: 'failed', errorCode: 'BUDGET_EXHAUSTED' })
        expect(result.message).toContain(reason)
        expect(await t.of(run.sessionId, 'tool.call')).toHaveLength(2)
        expect(await t.of(run.sessionId, 'agent.terminated')).toEqual([])
        expect(await (await t.run({ sessionId: run.sessionId })).result()).toMatchObject({ status: 'succeeded' })
      }),
    )
  }

  const slow = heldTool('slow.work', { timeoutMs: 60 * minute })
  scenario(
    'AG-04',
    'wall time counts while the agent works, and not while it waits for a person or a process',
    on(
      store,
      {
        warnings: ['a worker stopped'],
        agents: {
          main: plays([form, call('slow.work'), call('slow.work', { again: true }), say('Done.')], {
            tools: [slow.tool],
            budget: { wallTimeMs: 10 * minute },
          }),
        },
      },
      async (t) => {
        // GIVEN an agent with ten minutes, and a person who takes a day to answer it
        const run = await t.run()
        const { sessionId } = run
        await t.hand.advance(24 * 60 * minute)
        await t.sw.inbox.reply((await t.question()).interaction_id, { reply: chosen })

        // WHEN its tool takes four minutes, and then the process is gone for a day
        await slow.hasBegun(1)
        await t.hand.advance(4 * minute)
        slow.begun[0]?.resolve('worked')
        await slow.hasBegun(2)
        await t.hand.advance(4 * minute)
        await t.process().die()
        await t.hand.advance(24 * 60 * minute)
        await t.kill()
        await t.sw.idle()

        // THEN only the minutes of work that are on record are counted, for the run, the agent and the session
        expect((await t.sw.runs.show(run.runId)).used.wall_time_ms).toBe(4 * minute)
        await t.reply((await t.question()).interaction_id, { outcome: 'did_not' })
        expect(await t.status(run.runId)).toBe('succeeded')
        await t.sw.sessions.close(sessionId)
        const used = { wall_time_ms: 4 * minute, tool_calls: 2 }
        expect(await t.of(sessionId, 'agent.terminated')).toMatchObject([
          { trigger: 'parent_closed', payload: { stats: used } },
        ])
        expect(await t.of(sessionId, 'session.closed')).toMatchObject([{ payload: { final_stats: used } }])
      },
    ),
  )

  const long = heldTool('slow.work', { timeoutMs: 60 * minute })
  scenario(
    'AG-04',
    'an agent that has used up its time is terminated before its next step',
    on(
      store,
      {
        agents: {
          main: plays([call('slow.work'), call('slow.work', { again: true }), say('Done.')], {
            tools: [long.tool],
            budget: { wallTimeMs: 10 * minute },
          }),
        },
      },
      async (t) => {
        // WHEN one step takes all the time that the agent has
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        await long.hasBegun(1)
        await t.hand.advance(10 * minute)
        long.begun[0]?.resolve('worked')
        await t.sw.idle()

        // THEN that step has its result, and no other begins
        expect(await t.of(run.sessionId, 'tool.result')).toMatchObject([{ payload: { status: 'success' } }])
        expect(await t.of(run.sessionId, 'tool.call')).toHaveLength(1)
        expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'BUDGET_EXHAUSTED' })
        expect(await t.of(run.sessionId, 'agent.terminated')).toMatchObject([
          { payload: { stats: { wall_time_ms: 10 * minute } } },
        ])
      },
    ),
  )

  const racing = { running: 0, most: 0, ran: 0, meet: async (_round: number) => {} }
  const busy = tool({
    name: 'busy.work',
    input: z.looseObject({ round: z.int() }),
    readOnly: true,
    run: async (args) => {
      racing.running += 1
      racing.most = Math.max(racing.most, racing.running)
      racing.ran += 1
      await racing.meet(args.round)
      await drained()
      racing.running -= 1
      return args as never
    },
  })
  const rounds = 6
  const workers = Object.fromEntries(
    ofEach(8, (n) => [
      `worker_${n}`,
      plays([...ofEach(rounds, (round) => call('busy.work', { n, round })), say(`Done by ${n}.`)], { tools: [busy] }),
    ]),
  )

  scenario(
    'AG-04',
    'eight agents at once in one session, none starved, no result lost, no gap in the log',
    on(store, { agents: { main: plays([say('Root.')]), ...workers } }, async (t) => {
      // GIVEN a session
      const { sessionId } = await t.sw.sessions.create({ agent: 'main' })
      // None is done before the others have begun: from then on they share the session.
      Object.assign(racing, { running: 0, most: 0, ran: 0, meet: meeting(8, 1) })

      // WHEN eight agents work in it at the same time
      const runs = await Promise.all(
        Object.keys(workers).map((agent) => t.sw.runs.start({ agent, input: 'Go.', sessionId })),
      )
      await t.sw.idle()

      // THEN they did work at the same time, and each finished with its own result
      expect(racing.most).toBeGreaterThan(1)
      const results = await Promise.all(runs.map((run) => run.result()))
      expect(results.map((result) => result.result)).toEqual(ofEach(8, (n) => `Done by ${n}.`))

      // AND every call has its one result, which is what its tool returned
      const calls = await t.of(sessionId, 'tool.call')
      const outputs = new Map((await t.of(sessionId, 'tool.result')).map((rune) => [rune.call_id, rune.payload.output]))
      expect(calls).toHaveLength(8 * rounds)
      expect(outputs.size).toBe(8 * rounds)
      for (const made of calls) expect(outputs.get(made.call_id)).toEqual(made.payload.arguments)

      // AND none had to stand back: no agent was finished before every other had made half of its calls
      const turns = await t.of(sessionId, 'tool.call', 'turn.completed')
      const firstDone = turns.findIndex((rune) => rune.kind === 'turn.completed')
      const before = Map.groupBy(turns.slice(0, firstDone), (rune) => rune.agent_id)
      expect(before.size).toBe(8)
      expect(Math.min(...[...before.values()].map((made) => made.length))).toBeGreaterThanOrEqual(rounds / 2)
    }),
  )

  scenario(
    'AG-04',
    'eight agents at once never go over the tool calls of their session',
    on(store, { agents: { main: plays([say('Root.')]), ...workers } }, async (t) => {
      // GIVEN a session that may make 20 calls, and eight agents that want 48
      const { sessionId } = await t.sw.sessions.create({ agent: 'main', sessionBudget: { toolCalls: 20 } })
      // None is so far ahead that it could be done before that is noticed.
      Object.assign(racing, { running: 0, most: 0, ran: 0, meet: meeting(8, 2) })

      // WHEN they work at the same time
      const runs = await Promise.all(
        Object.keys(workers).map((agent) => t.sw.runs.start({ agent, input: 'Go.', sessionId })),
      )
      await t.sw.idle()

      // THEN exactly so many were made, the session is suspended once, and everyone waits in its queue
      expect(await t.of(sessionId, 'tool.call')).toHaveLength(20)
      expect(racing.ran).toBe(20)
      expect(await t.of(sessionId, 'session.suspended')).toMatchObject([{ trigger: 'budget_exhausted' }])
      expect(new Set(await Promise.all(runs.map((run) => t.status(run.runId))))).toEqual(new Set(['queued']))
      expect(await t.of(sessionId, 'agent.terminated')).toEqual([])

      // AND with more to spend they all come to their end, none of them having lost a step
      await t.sw.sessions.replenish(sessionId, { toolCalls: 8 * rounds })
      await t.sw.idle()
      const results = await Promise.all(runs.map((run) => run.result()))
      expect(results.map((result) => result.result)).toEqual(ofEach(8, (n) => `Done by ${n}.`))
      expect(await t.of(sessionId, 'tool.call')).toHaveLength(8 * rounds)
    }),
  )

  scenario(
    'AG-04',
    'eight agents at once never go over the tool calls that their session was given when it was replenished',
    on(
      store,
      { agents: { main: plays([call('shop.look_up', { n: 1 }), say('Root.')], { tools: [lookUp] }), ...workers } },
      async (t) => {
        // GIVEN a session without a limit of tool calls that has made one, and has used up its tokens
        const { sessionId } = await t.sw.sessions.create({ agent: 'main', sessionBudget: { tokens: 4 } })
        await t.run({ sessionId })
        await t.run({ sessionId })
        expect(await t.of(sessionId, 'session.suspended')).toHaveLength(1)
        Object.assign(racing, { running: 0, most: 0, ran: 0, meet: meeting(8, 2) })

        // WHEN it is replenished with its first limit of them, and eight agents that want 48 calls work at the same time
        await t.sw.sessions.replenish(sessionId, { tokens: 1_000, toolCalls: 20 })
        const runs = await Promise.all(
          Object.keys(workers).map((agent) => t.sw.runs.start({ agent, input: 'Go.', sessionId })),
        )
        await t.sw.idle()

        // THEN exactly so many were made, and the session is suspended once more
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(20)
        expect(racing.ran).toBe(19)
        expect(await t.of(sessionId, 'session.suspended')).toHaveLength(2)

        // AND with more to spend they all come to their end
        await t.sw.sessions.replenish(sessionId, { toolCalls: 100 })
        await t.sw.idle()
        const results = await Promise.all(runs.map((run) => run.result()))
        expect(results.map((result) => result.result)).toEqual(ofEach(8, (n) => `Done by ${n}.`))
      },
    ),
  )

  scenario(
    'AG-04',
    'a sub-agent draws on the budget of the one that it works for, and on its time',
    on(
      store,
      {
        agents: {
          main: plays([call('delegate.helper', { task: 'Look.' }), say('Done.')], {
            delegates: ['helper'],
            budget: { toolCalls: 3, wallTimeMs: 10 * minute },
          }),
          helper: plays([form, ...threeSteps], { tools: [lookUp] }),
        },
      },
      async (t) => {
        // GIVEN a parent that may make three calls and has handed its task on with one of them
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        const { sessionId } = run
        const asked = await t.until(sessionId, (rune) => rune.kind === 'interaction.opened')

        // WHEN its sub-agent waits a day for a person, and then makes more calls than the parent has left
        await t.hand.advance(24 * 60 * minute)
        await t.sw.inbox.reply(asked.interaction_id ?? '', { reply: chosen })
        await t.sw.idle()

        // THEN the sub-agent stopped where the parent's budget ends, and the parent was told
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(3)
        const results = (await t.of(sessionId, 'tool.result')).map((rune) => rune.payload)
        expect(results.at(-1)).toMatchObject({
          status: 'error',
          error: expect.stringContaining('3 of 3 tool calls are made'),
        })

        // AND the day of waiting cost neither of them their time
        expect(await run.result()).toMatchObject({ status: 'succeeded' })
        expect((await t.sw.runs.show(run.runId)).used).toMatchObject({ wall_time_ms: 0, tool_calls: 3 })
      },
    ),
  )

  const helpers = ofEach(4, (n) => `helper_${n}`)
  scenario(
    'AG-04',
    'sub-agents that work at the same time never go over the tool calls of the run that they work for',
    on(
      store,
      {
        agents: {
          main: plays([together(...helpers.map((name) => call(`delegate.${name}`, { task: 'Work.' }))), say('Done.')], {
            delegates: helpers,
          }),
          ...Object.fromEntries(helpers.map((name, n) => [name, workers[`worker_${n}`] as Agent])),
        },
      },
      async (t) => {
        // GIVEN a run that may make ten calls, four of which hand tasks to agents that want six each
        Object.assign(racing, { running: 0, most: 0, ran: 0, meet: meeting(4, 1) })
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.', budget: { toolCalls: 10 } })

        // WHEN they work at the same time
        await t.sw.idle()
        expect(racing.most).toBe(4)

        // THEN exactly so many were made, and each was told where the budget ends
        expect(await t.of(run.sessionId, 'tool.call')).toHaveLength(10)
        expect(racing.ran).toBe(6)
        expect((await t.sw.runs.show(run.runId)).used).toMatchObject({ tool_calls: 10 })
        const ends = (await t.of(run.sessionId, 'run.moved')).filter((rune) => rune.to === 'failed')
        expect(ends.map((rune) => rune.payload.error_code)).toEqual(Array(4).fill('BUDGET_EXHAUSTED'))
        expect(await run.result()).toMatchObject({ status: 'succeeded' })
      },
    ),
  )
}
