import { expect } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import { breakOff, call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form } from './props.ts'
import type { Store } from './stores.ts'
import { heldModel, heldTool, lookUp, ofEach, on, plays } from './theatre.ts'

/** An agent with something in it that throws once it is armed. */
function fragile(place: string) {
  let isArmed = false
  let ran = 0
  const bang = () => {
    if (isArmed) throw new Error('bang')
  }
  const plain = tool({
    name: 'fragile.tool',
    input: z.looseObject({}),
    irreversible: true,
    approval: place === 'a tool after its approval' ? 'always' : 'never',
    run: () => {
      ran += 1
      return 'ran'
    },
  })
  const touchy: Tool = {
    ...plain,
    get approval() {
      bang()
      return plain.approval
    },
  }
  const model = scriptedModel([call('fragile.tool', { n: 1 }), say('Done.')])
  const stream: typeof model.stream = (request, signal) => {
    if (place === 'its model') bang()
    return model.stream(request, signal)
  }
  return {
    agent: agent({ role: 'fragile', model: { ...model, stream }, tools: [touchy], retries: { tries: 1 } }),
    arm: () => {
      isArmed = true
    },
    ran: () => ran,
  }
}

/** Specification 002, Agent: its runes, its end, its supervision, its one turn at a time. */
export function agentPlays(store: Store) {
  const setUp = { problem: '' }
  scenario(
    'AG-02',
    'each row of the table of agent runes is written, with its payload',
    on(
      store,
      {
        agents: {
          main: plays([say('Done.')], { tools: [lookUp], budget: { tokens: 100 } }),
          unfit: plays([say('Done.')], {
            prepare: () => {
              if (setUp.problem !== '') throw new Error(setUp.problem)
            },
          }),
        },
      },
      async (t) => {
        // GIVEN a session whose root agent runs a turn
        const { sessionId } = await t.run()

        // WHEN another agent works for it, one cannot be set up, and the first is killed
        const [root] = await t.of(sessionId, 'agent.spawning')
        const parent_id = root?.payload.agent_id ?? ''
        const child = await t.sw.agents.spawn(sessionId, 'main', { parentId: parent_id, budget: { toolCalls: 3 } })
        setUp.problem = 'no key for the service'
        await expect(t.sw.agents.spawn(sessionId, 'unfit', { parentId: parent_id })).rejects.toMatchObject({
          code: 'agent_unfit',
          details: { agent: 'unfit', problem: 'no key for the service' },
        })
        await t.sw.agents.kill(parent_id, { reason: 'not needed' })

        // THEN these runes tell it: all of the agent machine, and those of the turn that move it along
        const told = await t.of(
          sessionId,
          ...([
            'agent.spawning',
            'agent.ready',
            'agent.failed',
            'turn.started',
            'turn.completed',
            'agent.terminated',
          ] as const),
        )
        expect(told).toMatchObject([
          {
            kind: 'agent.spawning',
            from: null,
            to: 'spawning',
            payload: {
              agent_id: parent_id,
              role: 'player',
              model: 'scripted',
              parent_id: null,
              tools: ['shop.look_up', 'ask_person'],
              budget: { tokens: 100 },
            },
          },
          { kind: 'agent.ready', from: 'spawning', to: 'idle', payload: { agent_id: parent_id } },
          { kind: 'turn.started', agent_id: parent_id, payload: { agent_id: parent_id } },
          { kind: 'turn.completed', agent_id: parent_id },
          { kind: 'agent.spawning', payload: { agent_id: child.agentId, parent_id, budget: { tool_calls: 3 } } },
          { kind: 'agent.ready', payload: { agent_id: child.agentId } },
          { kind: 'agent.spawning', payload: { agent: 'unfit' } },
          { kind: 'agent.failed', from: 'spawning', to: 'failed', payload: { error: 'no key for the service' } },
          {
            kind: 'agent.terminated',
            from: 'idle',
            trigger: 'kill',
            payload: { agent_id: parent_id, reason: 'not needed', stats: { tokens: 2, tool_calls: 0 } },
          },
          { kind: 'agent.terminated', trigger: 'parent_closed', payload: { agent_id: child.agentId } },
        ])

        // AND an agent that could not be set up gets no work, in this session or as the root of a new one
        const before = (await t.sw.sessions.list()).length
        await expect(t.sw.runs.start({ agent: 'unfit', input: 'Go.', sessionId })).rejects.toMatchObject({
          code: 'agent_unfit',
        })
        await expect(t.sw.runs.start({ agent: 'unfit', input: 'Go.' })).rejects.toMatchObject({ code: 'agent_unfit' })
        expect(await t.sw.sessions.list()).toHaveLength(before)
        setUp.problem = ''
        expect(await (await t.run({ agent: 'unfit', sessionId })).result()).toMatchObject({ status: 'succeeded' })
      },
    ),
  )

  const writing = heldModel([say('The first half, and the second half.')])
  scenario(
    'AG-02',
    'an agent in a turn is killed by force only, and what was queued for it is not lost from sight',
    on(store, { agents: { main: plays([], { model: writing.model }), other: plays([form]) } }, async (t) => {
      // GIVEN an agent in the middle of an answer, with another message in its queue
      const first = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
      const { sessionId } = first
      const second = await t.sw.runs.start({ agent: 'main', input: 'And then?', sessionId })
      await writing.began
      const { agent_id } = await t.sw.runs.show(first.runId)

      // WHEN it is killed without force, it is refused with the run that it is in
      await expect(t.sw.agents.kill(agent_id)).rejects.toMatchObject({
        code: 'agent_busy',
        details: { run_id: first.runId },
      })

      // WHEN it is killed by force
      await t.sw.agents.kill(agent_id, { force: true })
      await t.sw.idle()

      // THEN its runs are over, the agent too, and it takes no more work
      expect(await t.status(first.runId)).toBe('canceled')
      expect(await t.status(second.runId)).toBe('canceled')
      expect(await t.of(sessionId, 'agent.terminated')).toMatchObject([{ agent_id, trigger: 'kill' }])
      await expect(t.sw.agents.kill(agent_id)).rejects.toMatchObject({ code: 'agent_over' })
      await expect(
        t.sw.runs.start({ agent: 'main', agentId: agent_id, input: 'Go.', sessionId }),
      ).rejects.toMatchObject({
        code: 'agent_over',
      })
      await expect(t.sw.agents.kill('agt_unknown')).rejects.toMatchObject({ code: 'not_found' })

      // AND one that waits for a person is killed in the same way: its question is withdrawn
      const waiting = await t.run({ agent: 'other', sessionId })
      await t.sw.agents.kill((await t.sw.runs.show(waiting.runId)).agent_id, { force: true })
      expect(await t.status(waiting.runId)).toBe('canceled')
      expect(await t.sw.inbox.list()).toEqual([])
    }),
  )

  for (const place of ['its model', 'the properties of a tool', 'a tool after its approval'] as const) {
    const sibling = heldTool('slow.work')
    const broken = fragile(place)
    scenario(
      'AG-03',
      `an agent that breaks in ${place} harms neither parent nor siblings`,
      on(
        store,
        {
          warnings: ['an agent crashed'],
          agents: {
            main: plays([form, say('Done.')]),
            sibling: plays([call('slow.work'), say('Done.')], { tools: [sibling.tool] }),
            crashing: broken.agent,
          },
        },
        async (t) => {
          // GIVEN a session with a parent that waits and a sibling that works
          const parent = await t.run()
          const { sessionId } = parent
          const question = await t.question()
          const parent_id = (await t.sw.runs.show(parent.runId)).agent_id
          const other = await t.sw.runs.start({ agent: 'sibling', input: 'Go.', sessionId })
          await sibling.hasBegun()

          // WHEN another agent of the same parent breaks at an unforeseen place, with a message behind it
          const { agentId } = await t.sw.agents.spawn(sessionId, 'crashing', { parentId: parent_id })
          const begin = () => t.sw.runs.start({ agent: 'crashing', agentId, input: 'Go.', sessionId })
          await t.sw.sessions.pause(sessionId)
          const [first, second] = [await begin(), await begin()]
          if (place !== 'a tool after its approval') broken.arm()
          await t.sw.sessions.resume(sessionId)
          if (place === 'a tool after its approval') {
            const asked = await t.until(
              sessionId,
              (rune) => rune.kind === 'interaction.opened' && rune.run_id === first.runId,
            )
            broken.arm()
            await t.sw.inbox.reply(asked.interaction_id ?? '', { reply: { decision: 'approve' } })
          }
          const failed = [await first.result(), await second.result()]

          // THEN its own run says what happened, and what was queued for it is told that it will not come to that
          const ended = (await t.of(sessionId, 'agent.terminated')).filter((rune) => rune.agent_id === agentId)
          if (place === 'its model') {
            // An error of a model is a broken stream, and no crash.
            expect(failed).toMatchObject([
              { errorCode: 'STREAM_FAILED', message: 'bang' },
              { errorCode: 'STREAM_FAILED' },
            ])
            expect(ended).toEqual([])
          } else {
            expect(failed).toMatchObject([
              { status: 'failed', errorCode: 'AGENT_CRASH', message: 'bang' },
              { status: 'failed', errorCode: 'AGENT_TERMINATED' },
            ])
            expect(ended).toMatchObject([
              { from: 'running_turn', trigger: 'crash', payload: { reason: 'crash: bang' } },
            ])
            expect(t.warnings.map(({ message }) => message)).toEqual(['an agent crashed'])
          }
          expect(broken.ran()).toBe(0)

          // AND the others go on as if nothing had been
          sibling.begun[0]?.resolve('worked')
          expect(await other.result()).toMatchObject({ status: 'succeeded' })
          await t.reply(question.interaction_id, chosen)
          expect(await parent.result()).toMatchObject({ status: 'succeeded' })
          expect(await t.of(sessionId, 'session.suspended')).toEqual([])
        },
      ),
    )
  }

  const child = fragile('the properties of a tool')
  scenario(
    'AG-03',
    'a sub-agent that breaks is an error of one call to its parent, and nothing to the sub-agent beside it',
    on(
      store,
      {
        warnings: ['an agent crashed'],
        agents: {
          main: plays(
            [
              together(call('delegate.crashing', { task: 'Try.' }), call('delegate.well', { task: 'Look.' })),
              say('Done.'),
            ],
            { delegates: ['crashing', 'well'] },
          ),
          crashing: child.agent,
          well: plays([call('shop.look_up'), say('Found.')], { tools: [lookUp] }),
        },
      },
      async (t) => {
        // WHEN one of two sub-agents that work at the same time breaks
        child.arm()
        const run = await t.run()

        // THEN the parent sees an error for that task and the result of the other, and goes on
        expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
        const calls = await t.of(run.sessionId, 'tool.call')
        const results = new Map((await t.of(run.sessionId, 'tool.result')).map((rune) => [rune.call_id, rune.payload]))
        const of = (name: string) => results.get(calls.find((rune) => rune.payload.tool_name === name)?.call_id)
        expect(of('delegate.crashing')).toMatchObject({ status: 'error', error: expect.stringContaining('bang') })
        expect(of('delegate.well')).toMatchObject({ status: 'success', output: 'Found.' })

        // AND of the three agents the parent alone is left
        const ended = await t.of(run.sessionId, 'agent.terminated')
        expect(ended.map((rune) => rune.trigger).sort()).toEqual(['crash', 'kill'])
        expect(ended.map((rune) => rune.agent_id)).not.toContain((await t.sw.runs.show(run.runId)).agent_id)
      },
    ),
  )

  scenario(
    'AG-05',
    'an agent runs one turn at a time, and its messages in the order in which they came',
    on(
      store,
      {
        agents: {
          main: plays(
            ofEach(20, (n) => say(`Answer ${n + 1}.`)),
            { tools: [lookUp] },
          ),
        },
      },
      async (t) => {
        // WHEN many messages for one agent come at once, the first of them with the session itself
        const first = await t.sw.runs.start({ agent: 'main', input: 'Message 1.' })
        const { sessionId } = first
        const others = await Promise.all(
          ofEach(9, (n) => t.sw.runs.start({ agent: 'main', input: `Message ${n + 2}.`, sessionId })),
        )
        await t.sw.idle()

        // THEN their turns follow each other, in the order of submission
        const submitted = (await t.of(sessionId, 'run.submitted')).map((rune) => rune.payload.input)
        const turns = await t.of(sessionId, 'turn.started', 'turn.completed')
        expect(turns.map((rune) => rune.kind)).toEqual(ofEach(10, () => ['turn.started', 'turn.completed']).flat())
        const inputs = turns.flatMap(({ payload }) => ('input' in payload ? [payload.input] : []))
        expect(inputs).toEqual(submitted)
        expect(new Set(turns.map((rune) => rune.agent_id)).size).toBe(1)
        expect(await others[8]?.result()).toMatchObject({ status: 'succeeded' })
      },
    ),
  )

  scenario(
    'AG-05',
    'two first messages at once for an agent that is not there spawn one of it',
    on(store, { agents: { main: plays([say('Root.')]), late: plays(ofEach(8, () => say('Here.'))) } }, async (t) => {
      // GIVEN an active session that has no such agent
      const { sessionId } = await t.run()

      // WHEN eight messages for it come at once
      const runs = await Promise.all(ofEach(8, () => t.sw.runs.start({ agent: 'late', input: 'Go.', sessionId })))
      await t.sw.idle()

      // THEN there is one of it, and it answered all of them
      const spawned = (await t.of(sessionId, 'agent.spawning')).filter((rune) => rune.payload.agent === 'late')
      expect(spawned).toHaveLength(1)
      for (const run of runs) expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Here.' })
    }),
  )

  const breaking = heldModel([breakOff('gone', { text: 'Half of it, and then nothing.' })])
  scenario(
    'AG-05',
    'a run that was set back goes before those that came after it, also after a crash',
    on(store, { agents: { main: plays([], { model: breaking.model, retries: { tries: 2 } }) } }, async (t) => {
      // GIVEN a run that was set back into the queue of a paused session after another had come
      const first = await t.sw.runs.start({ agent: 'main', input: 'First.' })
      const { sessionId } = first
      await breaking.began
      await t.sw.sessions.pause(sessionId)
      await t.hand.advance(1)
      const second = await t.sw.runs.start({ agent: 'main', input: 'Second.', sessionId })
      await t.hand.advance(1)
      breaking.goOn()
      await t.sw.idle()
      expect(await Promise.all([t.status(first.runId), t.status(second.runId)])).toEqual(['queued', 'queued'])

      // WHEN the process dies right after the session was resumed, and another one finds both in the queue
      t.process().dieAt(1, 'after')
      await expect(t.sw.sessions.resume(sessionId)).rejects.toMatchObject({ code: 'store_poisoned' })
      await t.kill()
      await t.passTime()

      // THEN the first is over before the second begins
      const turns = await t.of(sessionId, 'turn.started')
      expect(turns.map((rune) => rune.run_id === first.runId)).toEqual([true, true, false, false])
      expect(await t.status(first.runId)).toBe('failed')
    }),
  )
}
