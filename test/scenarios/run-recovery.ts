import { expect } from 'vitest'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { chosen, form, minute, refund } from './props.ts'
import type { Store } from './stores.ts'
import { heldModel, heldTool, lookUp, ofEach, on, plays } from './theatre.ts'

/** Remains of a killed process in the memory of this one may warn. */
const warnings = ['a worker stopped', 'an agent crashed', 'a deadline could not be applied']

/** Specification 004: a run whose process is restarted or killed. */
export function runRecoveryPlays(store: Store) {
  scenario(
    'RU-04',
    'after a restart a run that can still be answered goes on waiting',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN a run in waiting_user whose question is open and whose agent is still there
      const run = await t.run()
      const { interaction_id } = await t.question()

      // WHEN the process is restarted, three times
      for (const _ of [1, 2, 3]) await t.restart()

      // THEN no start touched the run, and it waits
      const before = await t.moves(run.sessionId, run.runId)
      expect(before.at(-1)).toBe('running → waiting_user (turn.needs_input)')
      expect(await t.status(run.runId)).toBe('waiting_user')

      // AND the answer, given to the last process, finds it preserved and reaches exactly that question
      await t.reply(interaction_id, chosen)
      expect(await (await t.sw.runs.get(run.runId)).result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
      expect((await t.moves(run.sessionId, run.runId)).slice(before.length, before.length + 2)).toEqual([
        'waiting_user → waiting_user (restart.preserve_waiting)',
        'waiting_user → queued (interaction.reply.accepted)',
      ])
    }),
  )

  scenario(
    'RU-04',
    'a deadline holds across restarts, whether it passes before or after one',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN two runs whose deadlines decide: one in 15 minutes, one 10 minutes later
      const [early] = [await t.run({ interactiveRequireUserReply: false })]
      await t.hand.advance(10 * minute)
      const late = await t.run({ interactiveRequireUserReply: false })

      // WHEN no process is there at the first deadline, and one is there again before the second
      await t.sw.close()
      await t.hand.advance(6 * minute)
      expect(await t.moves(early.sessionId, early.runId)).toHaveLength(2)
      await t.kill()
      await t.hand.advance(0)
      await t.sw.idle()

      // THEN the first was decided as soon as someone was there, and the second in its time
      expect(await t.status(early.runId)).toBe('succeeded')
      expect(await t.status(late.runId)).toBe('waiting_user')
      await t.hand.advance(9 * minute)
      await t.sw.idle()
      expect(await t.status(late.runId)).toBe('succeeded')
      const [expired] = await t.of(late.sessionId, 'interaction.expired')
      const [asked] = await t.of(late.sessionId, 'interaction.opened')
      expect((expired?.at ?? 0) - (asked?.at ?? 0)).toBe(15 * minute)
    }),
  )

  const approved = refund()
  scenario(
    'RU-04',
    'an answer that was accepted before the crash is used after it, once',
    on(
      store,
      {
        warnings,
        agents: { main: plays([call('payments.refund', { order: '42' }), say('Done.')], { tools: [approved.tool] }) },
      },
      async (t) => {
        // GIVEN a run that waits for an approval
        const run = await t.run()
        const { interaction_id } = await t.question()

        // WHEN the process is killed right after it recorded the reply, before anyone could take the run
        t.process().dieAt(1, 'after')
        const reply = { reply: { decision: 'approve' }, idempotencyKey: 'k1' }
        await expect(t.sw.inbox.reply(interaction_id, reply)).rejects.toMatchObject({ code: 'store_poisoned' })
        expect(t.process().isDead()).toBe(true)
        await t.kill()
        await t.sw.idle()

        // THEN the next process found it queued and went on, and the client that replied can learn that its answer was used
        expect(approved.paid.length).toBe(1)
        expect(await t.status(run.runId)).toBe('succeeded')
        expect(await t.sw.inbox.reply(interaction_id, reply)).toMatchObject({ isRepeated: true })
      },
    ),
  )

  scenario(
    'RU-05',
    'a waiting run whose agent is gone fails at the start',
    on(store, { agents: { main: plays([form, say('Done.')]), other: plays([say('Other.')]) } }, async (t) => {
      // GIVEN a run in waiting_user
      const run = await t.run()
      const { interaction_id } = await t.question()

      // WHEN the next process does not know its agent
      await t.restart({ agents: { other: plays([say('Other.')]) } })

      // THEN restart.reconcile_failed ended it, with what it had open
      expect((await t.moves(run.sessionId, run.runId)).at(-1)).toBe('waiting_user → failed (restart.reconcile_failed)')
      const result = await (await t.sw.runs.get(run.runId)).result()
      expect(result).toMatchObject({ status: 'failed', errorCode: 'SESSION_RESUME_FAILED' })
      expect(result.message).toContain('agent_is_configured')
      expect(await t.sw.inbox.list()).toEqual([])
      expect((await t.fcmp(run.sessionId, run.runId)).at(-1)?.data).toMatchObject({
        from: 'waiting_user',
        terminal: { status: 'failed', error: { category: 'recovery', code: 'SESSION_RESUME_FAILED' } },
      })

      // AND a reply that comes now is refused with the reason, and the session takes other work
      await expect(t.sw.inbox.reply(interaction_id, { reply: chosen })).rejects.toMatchObject({
        code: 'interaction_closed',
        details: { state: 'withdrawn', by: 'recovery' },
      })
      const next = await t.sw.runs.start({ agent: 'other', input: 'Go.', sessionId: run.sessionId })
      expect(await next.result()).toMatchObject({ result: 'Other.' })
    }),
  )

  scenario(
    'RU-05',
    'a process that only gives commands leaves runs of agents it does not have as they are, and takes answers for them',
    on(store, { agents: { main: plays([form, say('Done.')]), other: plays([say('Other.')]) } }, async (t) => {
      // GIVEN a run that waits, and one behind it in the queue
      const run = await t.run()
      const { interaction_id } = await t.question()
      const behind = await t.sw.runs.start({ agent: 'main', input: 'Go.', sessionId: run.sessionId })

      // WHEN a process that takes no runs, and knows other agents or none, is there for a while and takes the answer
      await t.restart({ agents: { other: plays([say('Other.')]) }, maxConcurrentRuns: 0 })
      expect(await t.status(run.runId)).toBe('waiting_user')
      await t.restart({ agents: {}, maxConcurrentRuns: 0 })
      await t.sw.inbox.reply(interaction_id, { reply: chosen })

      // THEN it failed nothing, and who has the agent goes on with both
      expect(await t.status(run.runId)).toBe('queued')
      expect(await t.status(behind.runId)).toBe('queued')
      await t.restart({ agents: { main: plays([form, say('Done.'), say('Done, too.')]) }, maxConcurrentRuns: 4 })
      expect(await (await t.sw.runs.get(run.runId)).result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
      expect(await (await t.sw.runs.get(behind.runId)).result()).toMatchObject({
        status: 'succeeded',
        result: 'Done, too.',
      })
    }),
  )

  const model = heldModel([say('Half an answer, and the other half.')])
  const gone = heldTool('payments.send', { irreversible: true })
  scenario(
    'RU-05',
    'runs that were queued or running for an agent that is gone fail as well',
    on(
      store,
      {
        warnings,
        agents: {
          streaming: plays([], { model: model.model }),
          paying: plays([call('payments.send'), say('Done.')], { tools: [gone.tool] }),
          main: plays([form, say('Done.')]),
        },
      },
      async (t) => {
        // GIVEN a run in its stream, one in the middle of an irreversible effect, and one in the queue behind another
        const streaming = await t.sw.runs.start({ agent: 'streaming', input: 'Go.' })
        const paying = await t.sw.runs.start({ agent: 'paying', input: 'Go.' })
        await Promise.all([model.began, gone.hasBegun()])
        const waiting = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        const queued = await t.sw.runs.start({ agent: 'main', input: 'Go.', sessionId: waiting.sessionId })
        await t.until(waiting.sessionId, (rune) => rune.kind === 'interaction.opened')

        // WHEN the process is killed and the next one knows none of the agents
        await t.kill({ agents: { other: plays([say('Other.')]) } })

        // THEN each failed from where it was
        const last = async (run: typeof queued) => (await t.moves(run.sessionId, run.runId)).at(-1)
        expect(await last(streaming)).toBe('running → failed (restart.reconcile_failed)')
        expect(await last(paying)).toBe('running → failed (restart.reconcile_failed)')
        expect(await last(queued)).toBe('queued → failed (restart.reconcile_failed)')

        // AND what may have happened is not called off: a person is asked, though the run is over
        expect(await t.question()).toMatchObject({ interaction_kind: 'settlement', run_id: paying.runId })
        await t.reply((await t.question()).interaction_id, { outcome: 'happened', result: 'sent' })
        const settled = (await t.of(paying.sessionId, 'contract.moved')).at(-1)
        expect(settled).toMatchObject({ to: 'completed', payload: { result: 'sent' } })
      },
    ),
  )

  scenario(
    'RU-05',
    'a run that takes its worker down five times over is given up',
    on(
      store,
      { warnings, agents: { main: plays([call('shop.look_up', {}), say('Done.')], { tools: [lookUp] }) } },
      async (t) => {
        // GIVEN a run whose worker dies each time it begins to work: at the append after the one that takes the run
        t.process().dieAt(3, 'before')
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        await t.sw.idle()
        for (const _ of [1, 2, 3, 4, 5]) {
          expect(t.process().isDead()).toBe(true)
          // The start requeues it (1), takes it (2), and dies before the answer of the model is recorded (3).
          await t.kill({}, (next) => next.dieAt(3, 'before'))
          await t.sw.idle()
        }

        // WHEN it is started once more
        await t.kill()
        await t.sw.idle()

        // THEN five requeues without progress are enough
        const moves = await t.moves(run.sessionId, run.runId)
        expect(moves.filter((move) => move.endsWith('(restart.requeued)'))).toHaveLength(5)
        expect(moves.at(-1)).toBe('running → failed (restart.reconcile_failed)')
        expect((await t.sw.runs.show(run.runId)).error_code).toBe('RECOVERY_LIMIT')

        // AND the worker that was lost says nothing about the session: it is as active as before
        expect((await t.sw.sessions.list())[0]?.state).toBe('active')
        expect(await t.of(run.sessionId, 'session.suspended')).toEqual([])
      },
    ),
  )

  scenario(
    'RU-05',
    'a run that gets somewhere between two crashes is never given up',
    on(
      store,
      {
        warnings,
        agents: { main: plays([...ofEach(9, (n) => call('shop.look_up', { n })), say('Done.')], { tools: [lookUp] }) },
      },
      async (t) => {
        // GIVEN a run of nine steps whose worker dies after each of them
        t.process().dieAt(4, 'before')
        const run = await t.sw.runs.start({ agent: 'main', input: 'Go.' })
        await t.sw.idle()
        let kills = 0
        for (; t.process().isDead(); kills++) {
          await t.kill({}, (next) => next.dieAt(5, 'before'))
          await t.sw.idle()
        }

        // THEN it was killed more often than a run may be requeued, and succeeded all the same
        expect(kills).toBeGreaterThan(5)
        expect(await t.status(run.runId)).toBe('succeeded')
        expect((await t.of(run.sessionId, 'tool.result')).length).toBe(9)
      },
    ),
  )
}
