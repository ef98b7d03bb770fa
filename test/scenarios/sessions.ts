import { expect } from 'vitest'
import { breakOff, call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form, minute } from './props.ts'
import type { Store } from './stores.ts'
import { heldModel, lookUp, on, plays } from './theatre.ts'

/** Specification 002, Session: its runes, its beginning, its pauses. */
export function sessionPlays(store: Store) {
  scenario(
    'SE-02',
    'each row of the table of session runes is written, with its payload',
    on(
      store,
      { agents: { main: plays([say('One.'), call('shop.look_up'), say('Two.')], { tools: [lookUp] }) } },
      async (t) => {
        // WHEN a session goes through everything that a session can go through
        const { sessionId } = await t.sw.sessions.create({ agent: 'main', sessionBudget: { toolCalls: 0 } })
        await t.run({ sessionId })
        await t.sw.sessions.pause(sessionId, 'lunch')
        await t.sw.sessions.resume(sessionId)
        await t.run({ sessionId })
        await t.sw.sessions.replenish(sessionId, { toolCalls: 5 })
        await t.sw.idle()
        await t.sw.sessions.close(sessionId, 'all done')
        await t.sw.sessions.archive(sessionId)

        // THEN these runes tell it, each a move of the session, with what its row says
        const [agent] = await t.of(sessionId, 'agent.spawning')
        const told = (await t.runes(sessionId)).filter((rune) => rune.machine === 'session')
        expect(told).toMatchObject([
          {
            kind: 'session.created',
            from: null,
            to: 'created',
            payload: { conversation_id: sessionId, config: { budget: { tool_calls: 0 } } },
          },
          {
            kind: 'session.activated',
            from: 'created',
            to: 'active',
            trigger: 'first_message',
            payload: { root_agent_id: agent?.payload.agent_id },
          },
          { kind: 'session.paused', from: 'active', to: 'paused', actor: 'human', payload: { reason: 'lunch' } },
          { kind: 'session.resumed', from: 'paused', to: 'active', actor: 'human', payload: {} },
          {
            kind: 'session.suspended',
            from: 'active',
            to: 'suspended',
            trigger: 'budget_exhausted',
            actor: 'policy',
            payload: {
              reason: expect.stringContaining('0 of 0 tool calls are made, and the next step needs 1 more'),
              budget_info: { tokens: 2, tool_calls: 0 },
            },
          },
          {
            kind: 'session.unsuspended',
            from: 'suspended',
            to: 'active',
            trigger: 'budget_replenished',
            payload: { budget: { tool_calls: 5 } },
          },
          { kind: 'session.closing', from: 'active', to: 'closing', payload: { reason: 'all done' } },
          {
            kind: 'session.closed',
            from: 'closing',
            to: 'closed',
            payload: { final_stats: { runs: 2, agents: 1, tool_calls: 1 } },
          },
          { kind: 'session.archived', from: 'closed', to: 'archived' },
        ])
        expect(told).toHaveLength(9)
      },
    ),
  )

  scenario(
    'SE-03',
    'a session is created with an id, its root agent and the beginning of its log, in one append',
    on(store, { agents: { main: plays([say('Hello.')]), other: plays([say('Other.')]) } }, async (t) => {
      // WHEN a session is created
      const appends = t.process().appends()
      const { sessionId } = await t.sw.sessions.create({ agent: 'main' })

      // THEN its log begins with these runes, written at once
      expect(t.process().appends() - appends).toBe(1)
      const runes = await t.runes(sessionId)
      expect(runes.map((rune) => [rune.event_id, rune.kind])).toEqual([
        [1, 'session.created'],
        [2, 'agent.spawning'],
        [3, 'agent.ready'],
      ])
      expect(await t.sw.sessions.list()).toMatchObject([{ session_id: sessionId, state: 'created' }])

      // AND its first message makes it active, also when that is for another agent than the root
      const run = await t.run({ sessionId, agent: 'other' })
      expect(await run.result()).toMatchObject({ result: 'Other.' })
      expect(await t.of(sessionId, 'session.activated')).toMatchObject([
        { payload: { root_agent_id: runes[1]?.agent_id } },
      ])
    }),
  )

  const writing = heldModel([say('The first half, and the second half.'), say('Next.')])
  scenario(
    'SE-04',
    'while a session is paused the turn in flight completes and no other begins',
    on(store, { agents: { main: plays([], { model: writing.model }) } }, async (t) => {
      // GIVEN a session whose agent is in the middle of an answer
      const first = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
      const { sessionId } = first
      await writing.began

      // WHEN it is paused, and another message comes
      await t.sw.sessions.pause(sessionId)
      const second = await t.sw.runs.start({ agent: 'main', input: 'And then?', sessionId })
      writing.goOn()
      await t.sw.idle()

      // THEN the turn in flight came to its end, the message is in the queue, and no turn began
      expect(await t.status(first.runId)).toBe('succeeded')
      expect(await t.status(second.runId)).toBe('queued')
      expect(await t.of(sessionId, 'turn.started')).toHaveLength(1)
      await expect(t.sw.sessions.pause(sessionId)).rejects.toMatchObject({ code: 'transition_refused' })

      // AND a restart changes nothing about that; only resuming does
      await t.restart()
      await t.sw.idle()
      expect(await t.status(second.runId)).toBe('queued')
      await t.sw.sessions.resume(sessionId)
      expect(await (await t.sw.runs.get(second.runId)).result()).toMatchObject({ status: 'succeeded' })
    }),
  )

  scenario(
    'SE-04',
    'while a session is paused replies are accepted and deadlines run',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN a paused session with a run that waits for a reply, and one with a run that a deadline decides
      const asked = await t.run()
      const { interaction_id } = await t.question()
      await t.sw.sessions.pause(asked.sessionId)
      const timed = await t.run({ interactiveRequireUserReply: false })
      await t.sw.sessions.pause(timed.sessionId)

      // WHEN the reply comes and the deadline passes
      await t.reply(interaction_id, chosen)
      await t.hand.advance(15 * minute)
      await t.sw.idle()

      // THEN both are recorded in the paused sessions, and both runs stay in the queue until they are resumed
      for (const [{ sessionId, runId }, kind] of [
        [asked, 'interaction.answered'],
        [timed, 'interaction.expired'],
      ] as const) {
        expect(await t.of(sessionId, kind)).toHaveLength(1)
        expect(await t.status(runId)).toBe('queued')
        expect(await t.of(sessionId, 'turn.completed')).toEqual([])
        await t.sw.sessions.resume(sessionId)
        await t.sw.idle()
        expect(await t.status(runId)).toBe('succeeded')
      }
    }),
  )

  const breaking = heldModel([breakOff('gone', { text: 'Half of it, and then nothing.' })])
  scenario(
    'SE-04',
    'a try that would open a new turn in a paused session waits in the queue',
    on(store, { agents: { main: plays([], { model: breaking.model }) } }, async (t) => {
      // GIVEN a run whose stream is about to break
      const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
      await breaking.began
      await t.sw.sessions.pause(run.sessionId)

      // WHEN it breaks while the session is paused
      breaking.goOn()
      await t.sw.idle()

      // THEN no new turn began: the run is queued, with what it had said
      expect(await t.status(run.runId)).toBe('queued')
      expect(await t.of(run.sessionId, 'turn.started')).toHaveLength(1)
      expect(await t.of(run.sessionId, 'turn.error')).toMatchObject([
        { payload: { retryable: true, partial_output: 'Half of it, and then nothing.' } },
      ])

      // AND after resuming, the tries go on being counted: two more, and the run fails
      await t.sw.sessions.resume(run.sessionId)
      await t.passTime()
      expect(await t.of(run.sessionId, 'turn.error')).toHaveLength(3)
      expect(await t.status(run.runId)).toBe('failed')
    }),
  )

  const steered = heldModel([say('The first half, and the second half.'), say('Steered.')])
  scenario(
    'SE-04',
    'new input for a run in a paused session opens its turn when the session goes on',
    on(store, { agents: { main: plays([], { model: steered.model }) } }, async (t) => {
      // GIVEN a run in the middle of its answer, in a paused session
      const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
      await steered.began
      await t.sw.sessions.pause(run.sessionId)

      // WHEN it is steered
      await run.steer('Rather this.')
      await t.sw.idle()

      // THEN its turn is interrupted with its half kept, and the input opens the next one after resuming
      expect(await t.of(run.sessionId, 'turn.interrupted')).toMatchObject([
        { payload: { reason: 'steered', partial_output: 'The first half, an' } },
      ])
      expect(await t.status(run.runId)).toBe('queued')
      steered.goOn()
      await t.sw.sessions.resume(run.sessionId)
      await t.sw.idle()
      expect((await t.of(run.sessionId, 'turn.started')).map((rune) => rune.payload.input)).toEqual([
        'Go.',
        'Rather this.',
      ])
      expect(await t.status(run.runId)).toBe('succeeded')
    }),
  )

  for (const next of ['a try', 'new input'] as const) {
    const late = heldModel([breakOff('gone', { text: 'Half of it, and then nothing.' }), say('Done.')])
    scenario(
      'SE-04',
      `a pause between the decision to open a turn for ${next} and its record comes first`,
      on(store, { agents: { main: plays([], { model: late.model }) } }, async (t) => {
        // GIVEN a run that is about to open its next turn
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        await late.began

        // WHEN the session is paused after that was decided and before it is on record
        t.process().intercept(
          (batch) => batch.runes.some((rune) => rune.kind === 'turn.started'),
          () => t.sw.sessions.pause(run.sessionId),
        )
        if (next === 'new input') await run.steer('Rather this.')
        late.goOn()
        await t.passTime()
        expect(t.process().hasIntercepted()).toBe(true)

        // THEN no turn was opened in the paused session
        expect(await t.of(run.sessionId, 'turn.started')).toHaveLength(1)
        expect(await t.status(run.runId)).toBe('queued')
      }),
    )
  }
}
