import { expect } from 'vitest'
import type { Draft } from '../../src/runes/rune.ts'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { writable } from '../support/writable.ts'
import { chosen, form } from './props.ts'
import type { Store } from './stores.ts'
import { heldModel, heldTool, on, plays, type Theatre } from './theatre.ts'

/** Everything that could be asked of a session that is over. */
async function refusals(t: Theatre, session_id: string): Promise<readonly string[]> {
  const asked = [
    () => t.sw.runs.start({ agent: 'main', input: 'More.', sessionId: session_id }),
    () => t.sw.agents.spawn(session_id, 'main'),
    () => t.sw.sessions.pause(session_id),
    () => t.sw.sessions.resume(session_id),
    () => t.sw.sessions.replenish(session_id, { tokens: 1 }),
    () => t.sw.sessions.reset(session_id),
    () => t.sw.sessions.close(session_id),
  ]
  return Promise.all(
    asked.map((ask) =>
      ask().then(
        () => 'accepted',
        (error) => String(error.code),
      ),
    ),
  )
}

const allRefused = ['session_over', 'session_over', ...Array(5).fill('transition_refused')]

/** Specification 002, Session: closing and archiving. */
export function closedSessionPlays(store: Store) {
  const writing = heldModel([say('The first half, and the second half.')])
  const slow = heldTool('slow.work')
  const paying = heldTool('payments.send', { irreversible: true })
  scenario(
    'SE-06',
    'closing cancels open runs, terminates the agents and seals the log',
    on(
      store,
      {
        settings: { cancelGraceMs: 0 },
        agents: {
          main: plays([form, say('Done.')]),
          writing: plays([], { model: writing.model }),
          working: plays([call('slow.work'), say('Done.')], { tools: [slow.tool] }),
          paying: plays([call('payments.send'), say('Done.')], { tools: [paying.tool] }),
        },
      },
      async (t) => {
        // GIVEN a session with runs in every state: one waits, one is queued behind it, three are at work
        const waiting = await t.run()
        const { sessionId } = waiting
        const begin = (agent: string) => t.sw.runs.start({ agent, input: 'Go.', sessionId })
        const runs = [
          waiting,
          await begin('main'),
          await begin('writing'),
          await begin('working'),
          await begin('paying'),
        ]
        await Promise.all([writing.began, slow.hasBegun(), paying.hasBegun()])

        // WHEN it is closed, and the tools under way do not stop
        const closed = t.sw.sessions.close(sessionId, 'enough')
        await t.until(sessionId, (rune) => rune.kind === 'turn.interrupted' && rune.actor === 'reasoning')
        await closed

        // THEN every run is canceled, every agent terminated, and the log is sealed, in this order
        expect(await Promise.all(runs.map((run) => t.status(run.runId)))).toEqual(Array(5).fill('canceled'))
        expect(await t.of(sessionId, 'agent.terminated')).toMatchObject(Array(4).fill({ trigger: 'parent_closed' }))
        const runes = await t.runes(sessionId)
        const at = (fits: (rune: (typeof runes)[number]) => boolean) => runes.findLastIndex(fits)
        expect(at((r) => r.kind === 'run.moved')).toBeLessThan(at((r) => r.kind === 'agent.terminated'))
        expect(runes.at(-1)).toMatchObject({ kind: 'session.closed', payload: { final_stats: { runs: 5, agents: 4 } } })
        expect(await t.sw.runelog.head(sessionId)).toMatchObject({ sealed: true })

        // AND nothing more is accepted, neither by the runtime nor by the log itself
        expect(await refusals(t, sessionId)).toEqual(allRefused)
        const more: Draft = { kind: 'run.misaligned', at: 0, actor: 'human', payload: { expected: [], found: [] } }
        expect(await writable(t.sw).append({ session_id: sessionId, runes: [more] })).toMatchObject({
          code: 'log_sealed',
        })
        expect(await t.runes(sessionId)).toHaveLength(runes.length)

        // AND the question about what may have happened outlives it all: its answer is the one thing a sealed log takes
        const question = await t.question()
        expect(question).toMatchObject({ interaction_kind: 'settlement', session_id: sessionId })
        await t.reply(question.interaction_id, { outcome: 'happened' })
        expect((await t.of(sessionId, 'contract.moved')).at(-1)).toMatchObject({ to: 'completed' })
      },
    ),
  )

  scenario(
    'SE-06',
    'a session can be closed from every state in which it is open',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN sessions that are created, active, paused and suspended
      const { sessionId: created } = await t.sw.sessions.create({ agent: 'main' })
      const active = (await t.run()).sessionId
      const paused = (await t.run()).sessionId
      await t.sw.sessions.pause(paused)
      const suspended = (await t.run({ sessionBudget: { tokens: 0 } })).sessionId
      const sessions = [created, active, paused, suspended]
      const states = async () => {
        const listed = await t.sw.sessions.list()
        return sessions.map((id) => listed.find((session) => session.session_id === id)?.state)
      }
      expect(await states()).toEqual(['created', 'active', 'paused', 'suspended'])

      // WHEN each is closed
      for (const session_id of sessions) await t.sw.sessions.close(session_id)

      // THEN all of them are, and each says from where it was closed
      expect(await states()).toEqual(Array(4).fill('closed'))
      const from = await Promise.all(sessions.map(async (id) => (await t.of(id, 'session.closing'))[0]?.from))
      expect(from).toEqual(['created', 'active', 'paused', 'suspended'])
      expect(await t.sw.inbox.list()).toEqual([])
    }),
  )

  scenario(
    'SE-06',
    'a close that a crash interrupts, at any of its appends, is finished at the next start',
    on(
      store,
      { warnings: ['a worker stopped'], agents: { main: plays([form, say('Done.')]), other: plays([form]) } },
      async (t) => {
        // GIVEN sessions that all look alike: one run waits, one is queued behind it, another agent waits as well
        const points = [1, 2, 3, 4, 5].flatMap((n) => [[n, 'before'] as const, [n, 'after'] as const])
        let interrupted = 0
        for (const [n, when] of points) {
          const { sessionId } = await t.run()
          await t.run({ sessionId })
          await t.run({ sessionId, agent: 'other' })

          // WHEN the process dies at the n-th append of closing one of them, and another one starts
          t.process().dieAt(n, when)
          const closed = await t.sw.sessions.close(sessionId, 'enough').then(
            () => true,
            () => false,
          )
          expect(closed).toBe(false)
          const before = (await t.sw.runelog.head(sessionId).catch(() => undefined)) ?? 'dead'
          expect(before).toBe('dead')
          const wasClosing = (await t.of(sessionId, 'session.closing')).length === 1
          const wasClosed = (await t.of(sessionId, 'session.closed')).length === 1
          await t.kill()
          await t.sw.idle()

          // THEN a close that had begun is finished: everything is over, once
          if (wasClosing && !wasClosed) interrupted += 1
          const kinds = (await t.runes(sessionId)).map((rune) => rune.kind)
          if (wasClosing) {
            expect(kinds.filter((kind) => kind === 'session.closed')).toHaveLength(1)
            expect(kinds.filter((kind) => kind === 'agent.terminated')).toHaveLength(2)
          } else {
            expect(kinds).not.toContain('session.closed')
            await t.sw.sessions.close(sessionId)
          }
          expect(await refusals(t, sessionId)).toEqual(allRefused)
        }
        expect(interrupted).toBeGreaterThanOrEqual(7)
      },
    ),
  )

  scenario(
    'SE-07',
    'an archived session is still listed, readable and verifiable, and takes nothing more',
    on(store, { agents: { main: plays([form, say('Done.')]) } }, async (t) => {
      // GIVEN a closed session and an open one
      const open = await t.run()
      const run = await t.run()
      const { sessionId } = run
      const question = (await t.sw.inbox.list()).find((each) => each.session_id === sessionId)
      await t.reply(question?.interaction_id ?? '', chosen)

      // WHEN one is archived before it is closed, it is refused
      await expect(t.sw.sessions.archive(sessionId)).rejects.toMatchObject({ code: 'transition_refused' })
      await expect(t.sw.sessions.archive('ses_unknown')).rejects.toMatchObject({ code: 'not_found' })
      await t.sw.sessions.close(sessionId)
      const before = await t.runes(sessionId)

      // WHEN it is archived
      await t.sw.sessions.archive(sessionId)

      // THEN its log is in cold storage, with all it held, and says so itself
      const after = await t.runes(sessionId)
      expect(after.slice(0, -1)).toEqual(before)
      expect(after.at(-1)).toMatchObject({ kind: 'session.archived', payload: { runes: before.length } })
      expect(await t.sw.runelog.head(sessionId)).toMatchObject({ sealed: true, archived: true })

      // AND it is listed with what is known of it, next to the others
      const [first, last] = [before[0]?.at, after.at(-1)?.at]
      expect(await t.sw.sessions.list({ state: 'archived' })).toEqual([
        { session_id: sessionId, state: 'archived', created_at: first, updated_at: last },
      ])
      expect((await t.sw.sessions.list()).map((session) => session.session_id).sort()).toEqual(
        [open.sessionId, sessionId].sort(),
      )
      expect(await t.sw.sessions.list({ limit: 1 })).toHaveLength(1)

      // AND nothing is accepted any more, also after a restart, while its run still tells what became of it
      for (const _ of [1, 2]) {
        expect(await refusals(t, sessionId)).toEqual(allRefused)
        await expect(t.sw.sessions.archive(sessionId)).rejects.toMatchObject({ code: 'transition_refused' })
        expect(await (await t.sw.runs.get(run.runId)).result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
        await t.restart()
      }
    }),
  )
}
