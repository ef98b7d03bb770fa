import { expect } from 'vitest'
import { breakOff, call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { minute } from './props.ts'
import type { Store } from './stores.ts'
import { heldTool, lookUp, on, plays } from './theatre.ts'

/** Specification 002, Session: its causes, and the ways back. */
export function suspendedSessionPlays(store: Store) {
  scenario(
    'SE-05',
    'five turn errors in a row suspend a session, and only a person brings it back',
    on(
      store,
      {
        agents: {
          main: plays([breakOff('down')], { retries: { tries: 3, firstDelayMs: 1_000 } }),
          well: plays([say('Fine.')]),
        },
      },
      async (t) => {
        // GIVEN a session whose model is down
        const first = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        const { sessionId } = first
        await t.passTime()
        expect(await t.status(first.runId)).toBe('failed')
        expect(await t.of(sessionId, 'turn.error')).toHaveLength(3)

        // WHEN the fifth error in a row comes
        const second = await t.sw.runs.start({ agent: 'main', input: 'Go.', sessionId })
        await t.passTime()

        // THEN the session is suspended in the append of that error, and the run that was tried waits in the queue
        const errors = await t.of(sessionId, 'turn.error')
        const [suspended] = await t.of(sessionId, 'session.suspended')
        expect(errors).toHaveLength(5)
        expect(suspended).toMatchObject({ trigger: 'error_threshold', payload: { budget_info: null } })
        expect((suspended?.event_id ?? 0) - (errors[4]?.event_id ?? 0)).toBe(2)
        expect(await t.status(second.runId)).toBe('queued')

        // AND time and a restart do not bring it back, and new messages are refused
        await t.hand.advance(60 * minute)
        await t.restart()
        await expect(t.sw.runs.start({ agent: 'well', input: 'Go.', sessionId })).rejects.toMatchObject({
          code: 'session_suspended',
        })
        expect(await t.status(second.runId)).toBe('queued')

        // AND a reset does: the errors are counted from zero, and what waited is taken
        await t.sw.sessions.reset(sessionId)
        await t.passTime()
        expect(await t.status(second.runId)).toBe('failed')
        const third = await t.run({ agent: 'well', sessionId })
        expect(await t.status(third.runId)).toBe('succeeded')
        expect(await t.of(sessionId, 'session.suspended')).toHaveLength(1)
      },
    ),
  )

  const slow = heldTool('slow.work')
  scenario(
    'SE-05',
    'a budget that is used up suspends the session, and a larger one lets its run go on',
    on(
      store,
      {
        agents: {
          main: plays([call('shop.look_up', { n: 1 }), call('shop.look_up', { n: 2 }), say('Done.')], {
            tools: [lookUp, slow.tool],
          }),
        },
      },
      async (t) => {
        // GIVEN a session that may make one tool call, and a run that makes two
        const run = await t.run({ sessionBudget: { toolCalls: 1, tokens: 8 } })
        const { sessionId, runId } = run

        // THEN the second call was not made, and the run waits in the queue of the suspended session
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(1)
        expect(await t.status(runId)).toBe('queued')
        expect(await t.of(sessionId, 'turn.interrupted')).toMatchObject([{ payload: { usage: { input_tokens: 1 } } }])

        // WHEN someone offers a budget that is used up already, it is refused; resuming is not the way either
        await expect(t.sw.sessions.replenish(sessionId, { toolCalls: 1 })).rejects.toMatchObject({
          code: 'budget_too_small',
        })
        await expect(t.sw.sessions.resume(sessionId)).rejects.toMatchObject({ code: 'suspended_otherwise' })

        // WHEN it is replenished
        await t.sw.sessions.replenish(sessionId, { toolCalls: 2 })
        await t.sw.idle()

        // THEN the run went on where it was
        expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(2)

        // AND the limit that was not named still holds: four answers, the cut one among them, took all eight tokens
        await t.restart()
        const again = await t.run({ sessionId })
        expect(await t.status(again.runId)).toBe('queued')
        expect((await t.of(sessionId, 'session.suspended')).at(-1)?.payload).toMatchObject({
          reason: expect.stringContaining('8 of 8 tokens'),
          budget_info: { tokens: 8, tool_calls: 2 },
        })
      },
    ),
  )

  scenario(
    'SE-05',
    'workers that were lost are no turn errors of the agent',
    on(
      store,
      {
        warnings: ['a worker stopped'],
        agents: { main: plays([breakOff('down', { retryable: false })]) },
      },
      async (t) => {
        // GIVEN a run whose worker was lost four times while its model was answering
        t.process().dieAt(3, 'before')
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        await t.sw.idle()
        for (const _ of [1, 2, 3]) {
          await t.kill({}, (next) => next.dieAt(3, 'before'))
          await t.sw.idle()
        }

        // WHEN the fifth try breaks by itself
        await t.kill()
        await t.sw.idle()

        // THEN there were five errors of turns, one of them the agent's, and the session goes on
        const errors = (await t.of(run.sessionId, 'turn.error')).map((rune) => rune.payload.error_type)
        expect(errors).toEqual([...Array(4).fill('worker_lost'), 'scripted_error'])
        expect(await t.status(run.runId)).toBe('failed')
        expect(await t.of(run.sessionId, 'session.suspended')).toEqual([])
      },
    ),
  )

  const working = heldTool('slow.work')
  scenario(
    'SE-05',
    'a paused session is not suspended as well: a spent budget is found when it goes on',
    on(
      store,
      {
        agents: {
          main: plays([call('slow.work'), call('slow.work', { again: true }), say('Done.')], { tools: [working.tool] }),
        },
      },
      async (t) => {
        // GIVEN a paused session with one tool call in its budget, which is under way
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.', sessionBudget: { toolCalls: 1 } })
        const { sessionId } = run
        await working.hasBegun()
        await t.sw.sessions.pause(sessionId)

        // WHEN the turn in flight wants another one
        working.begun[0]?.resolve('worked')
        await t.sw.idle()

        // THEN the run waits, the session is paused and nothing else
        expect(await t.status(run.runId)).toBe('queued')
        expect((await t.sw.sessions.list())[0]?.state).toBe('paused')

        // AND when it goes on it is suspended for its budget
        await t.sw.sessions.resume(sessionId)
        await t.sw.idle()
        expect((await t.sw.sessions.list())[0]?.state).toBe('suspended')
        expect(await t.of(sessionId, 'tool.call')).toHaveLength(1)
      },
    ),
  )
}
