import { expect } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { createGate, holding } from './gate.ts'
import { counting, heldTool, on, play, refundTool } from './stage.ts'
import type { Store } from './stores.ts'

const anything = z.looseObject({})
const refund = call('payments.refund', { order: '42', cents: 500 })

/** Several questions at once, answers that race, and approvals that no longer fit. */
export function approvalPlays(store: Store) {
  play(
    'approval: of two calls the one without approval is done first, and then one person is asked',
    on(
      store,
      () => {
        const look = heldTool({ name: 'look' })
        const asks = refundTool({ approval: 'always' })
        return { look, asks, tools: [look, asks], script: [together(refund, call('look')), say('Done.')] }
      },
      async ({ world, submit, inbox, snapshots, status, question, reply, of }, { look, asks }) => {
        // GIVEN an answer with both
        const { sessionId, runId } = await submit()
        await look.hasBegun()
        // THEN no person is asked while the other is under way
        expect(await inbox()).toEqual([])
        look.begun[0]?.resolve('seen')
        await world.sw.idle()
        // AND then the run waits, with what needed no answer done
        expect(await status(runId)).toBe('waiting_user')
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['waiting', 'completed'])
        const { interaction_id } = await question()
        const [parked] = (await of(sessionId, 'run.moved')).filter((rune) => rune.to === 'waiting_user')
        expect(parked?.payload.interaction_ids).toEqual([interaction_id])
        // WHEN the person approves, the rest is done and the model goes on with both
        await reply(interaction_id, { decision: 'approve' })
        expect(asks.ran).toHaveLength(1)
        expect((await of(sessionId, 'turn.tools_finished'))[0]?.payload.results).toMatchObject([
          { label: 'SUCCESS', summary: 'payments.refund', result_summary: expect.any(String) },
          { label: 'SUCCESS', summary: 'look', result_summary: expect.any(String) },
        ])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  for (const order of [
    [0, 1],
    [1, 0],
  ])
    play(
      `approval: two open approvals, the ${order[0] === 0 ? 'first' : 'second'} answered first`,
      on(store, twoApprovals, async ({ run, inbox, reply, status, snapshots, of }, { first, second }) => {
        // GIVEN two questions, opened together
        const { sessionId, runId } = await run()
        const questions = await inbox()
        const opened = await of(sessionId, 'interaction.opened')
        expect(opened.map((rune) => rune.interaction_id)).toEqual(questions.map((q) => q.interaction_id))
        const ask = (i: number | undefined) => questions[i ?? 0]?.interaction_id ?? ''

        // WHEN one is answered
        await reply(ask(order[0]), { decision: 'approve' })
        // THEN that one is done, and the run waits again for the other
        expect([first.ran.length, second.ran.length]).toEqual(order[0] === 0 ? [1, 0] : [0, 1])
        expect(await status(runId)).toBe('waiting_user')
        expect((await inbox()).map((q) => q.interaction_id)).toEqual([ask(order[1])])

        // AND when the other is answered, too, the run goes on
        await reply(ask(order[1]), { decision: 'deny' })
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(
          order[0] === 0 ? ['completed', 'rejected'] : ['rejected', 'completed'],
        )
        expect(await status(runId)).toBe('succeeded')
        expect((await of(sessionId, 'run.moved')).map((rune) => rune.to)).toEqual([
          'running',
          'waiting_user',
          'queued',
          'running',
          'waiting_user',
          'queued',
          'running',
          'succeeded',
        ])
      }),
    )

  play(
    'approval: an answer to a run that runs again is used without a move of the run',
    on(
      store,
      () => {
        const first = heldTool({ name: 'first', approval: 'always' })
        const second = counting({ name: 'second', input: anything, approval: 'always', run: () => 'done' })
        const script = [together(call('first'), call('second')), say('Done.')]
        return { first, second, tools: [first, second], script }
      },
      async ({ world, run, inbox, status, of }, { first, second }) => {
        // GIVEN two questions of which one is answered, and its tool at work
        const { sessionId, runId } = await run()
        const [one, two] = await inbox()
        await world.sw.inbox.reply(one?.interaction_id ?? '', { reply: { decision: 'approve' } })
        await first.hasBegun()
        expect(await status(runId)).toBe('running')
        // WHEN the other answer comes meanwhile
        await world.sw.inbox.reply(two?.interaction_id ?? '', { reply: { decision: 'approve' } })
        const answered = (await of(sessionId, 'interaction.answered')).at(-1)
        expect((await of(sessionId, 'run.moved')).at(-1)?.event_id).toBeLessThan(answered?.event_id ?? 0)
        // THEN it is used when it can be, and the run never waited for it
        first.begun[0]?.resolve('done')
        await world.sw.idle()
        expect(second.ran).toHaveLength(1)
        expect(await status(runId)).toBe('succeeded')
        const moves = (await of(sessionId, 'run.moved')).map((rune) => rune.to)
        expect(moves.filter((to) => to === 'waiting_user')).toHaveLength(1)
      },
    ),
  )

  play(
    'approval: an answer that races with the run parking again is not lost',
    on(
      store,
      () => ({ ...createGate(), ...twoApprovals() }),
      async ({ world, run, inbox, status, of }, { stop, refused, second }) => {
        // GIVEN two questions, the first answered, and the worker about to wait for the second
        const { sessionId, runId } = await run()
        const [one, two] = await inbox()
        const parking = stop(holding('turn.needs_input'))
        await world.sw.inbox.reply(one?.interaction_id ?? '', { reply: { decision: 'deny' } })
        await parking.reached
        // WHEN the second answer is recorded before that
        await world.sw.inbox.reply(two?.interaction_id ?? '', { reply: { decision: 'approve' } })
        parking.open()
        await world.sw.idle()
        // THEN the worker looks again and uses it
        expect(refused).toEqual(['stale_write'])
        expect(second.ran).toHaveLength(1)
        expect(await status(runId)).toBe('succeeded')
        expect((await of(sessionId, 'run.moved')).filter((rune) => rune.to === 'waiting_user')).toHaveLength(1)
      },
    ),
  )

  for (let steps = 0; steps < 12; steps++)
    play(
      `approval: an answer recorded ${steps} steps before the run parks is not lost`,
      on(
        store,
        () => ({ ...createGate(), ...twoApprovals() }),
        async ({ world, run, inbox, status }, { stop, second }) => {
          // GIVEN two questions, the first answered, and the worker about to wait for the second
          const { runId } = await run()
          const [one, two] = await inbox()
          const parking = stop(holding('turn.needs_input'))
          await world.sw.inbox.reply(one?.interaction_id ?? '', { reply: { decision: 'deny' } })
          await parking.reached
          // WHEN the second answer is on its way while that is recorded, and heard of here
          const replied = world.sw.inbox.reply(two?.interaction_id ?? '', { reply: { decision: 'approve' } })
          for (let n = 0; n < steps; n++) await Promise.resolve()
          parking.open()
          await replied
          await world.sw.idle()
          // THEN it is used
          expect(await status(runId)).toBe('succeeded')
          expect(second.ran).toHaveLength(1)
        },
      ),
    )

  play(
    'approval: a deadline that races with the run parking again is applied',
    on(
      store,
      () => ({ ...createGate(), ...twoApprovals(), settings: { replyTimeoutMs: 1_000 } }),
      async ({ world, run, inbox, status, snapshots }, { stop, refused, first, second }) => {
        const { sessionId, runId } = await run({ interactiveRequireUserReply: false })
        const [one] = await inbox()
        const parking = stop(holding('turn.needs_input'))
        await world.sw.inbox.reply(one?.interaction_id ?? '', { reply: { decision: 'deny' } })
        await parking.reached
        // WHEN the deadline of the second passes before the run waits for it
        await world.hand.advance(1_000)
        await world.until(sessionId, (rune) => rune.kind === 'interaction.expired')
        parking.open()
        await world.sw.idle()
        // THEN silence has decided, and the run went on
        expect(refused).toEqual(['stale_write'])
        expect([...first.ran, ...second.ran]).toEqual([])
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['rejected', 'cancelled'])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  for (const winner of ['the reply', 'the deadline'] as const)
    play(
      `approval: of a reply and a deadline at the same instant ${winner} wins, and the other is refused`,
      on(
        store,
        () => ({
          ...createGate(),
          settings: { replyTimeoutMs: 1_000 },
          ...oneApproval(),
        }),
        async ({ world, run, question, status, of, snapshots }, { stop, refused, asks }) => {
          // GIVEN an open question whose deadline is now
          const { sessionId, runId } = await run({ interactiveRequireUserReply: false })
          const { interaction_id, deadline } = await question()
          expect(deadline).toBe(world.hand.clock.now() + 1_000)

          // WHEN both are on their way at once, and one of them is held up
          const loser = stop(holding(winner === 'the reply' ? 'interaction.expired' : 'interaction.answered'))
          const reply = () =>
            world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' }, repliedBy: 'ada' }).then(
              () => 'accepted',
              (error) => error,
            )
          const early = winner === 'the reply' ? world.hand.advance(1_000) : reply()
          await loser.reached
          const late = winner === 'the reply' ? reply() : world.hand.advance(1_000)
          await world.until(sessionId, (rune) => rune.interaction_id === interaction_id && rune.from === 'open')
          loser.open()
          const [first, second] = await Promise.all([early, late])
          const told = first ?? second
          await world.sw.idle()

          // THEN exactly one of them counts
          const ends = (await of(sessionId, 'interaction.answered', 'interaction.expired')).map((rune) => rune.kind)
          expect(ends).toEqual([winner === 'the reply' ? 'interaction.answered' : 'interaction.expired'])
          expect(refused).toEqual(['stale_write'])
          if (winner === 'the reply') expect(told).toBe('accepted')
          else expect(told).toMatchObject({ code: 'interaction_closed', details: { state: 'expired', by: 'timer' } })
          expect(asks.ran).toHaveLength(winner === 'the reply' ? 1 : 0)
          expect((await snapshots(sessionId))[0]?.current_status).toBe(
            winner === 'the reply' ? 'completed' : 'cancelled',
          )
          expect(await status(runId)).toBe('succeeded')
        },
      ),
    )

  play(
    'F-107 approval: a changed definition voids it, and the person is asked again',
    on(store, oneApproval, async ({ world, run, question, reply, snapshots, of, status }, { asks }) => {
      // GIVEN an approval that was asked for
      const { sessionId, runId } = await run()
      const { interaction_id } = await question()
      // WHEN the tool is another one by the time it is given
      const changed = refundTool({ approval: 'always', description: 'Now also cancels the order.' })
      const model = scriptedModel([refund, say('Well.')])
      await world.restart({ agents: { support: agent({ role: 'support', model, tools: [changed] }) } })
      await reply(interaction_id, { decision: 'approve' })
      // THEN nothing runs, and the run waits for an answer to what it is now
      expect([...asks.ran, ...changed.ran]).toEqual([])
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      expect(await of(sessionId, 'tool.approved')).toEqual([])
      expect(await status(runId)).toBe('waiting_user')
      const again = await question()
      expect(again.interaction_id).not.toBe(interaction_id)
      expect(again.prompt).toContain('that approval is void')
      // WHEN that is approved
      await reply(again.interaction_id, { decision: 'approve' })
      // THEN it runs once, as the tool that was approved
      expect(changed.ran).toHaveLength(1)
      expect(await status(runId)).toBe('succeeded')
    }),
  )

  play(
    'approval: it covers the policy under which it was asked for',
    on(store, oneApproval, async ({ world, run, question, reply, snapshots }, { asks }) => {
      const { sessionId } = await run()
      const { interaction_id } = await question()
      // WHEN the policy is another one by the time the approval is given
      await world.restart({ policy: { mode: 'read_only' } })
      await reply(interaction_id, { decision: 'approve' })
      // THEN nothing runs
      expect(asks.ran).toEqual([])
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'rejected' }])
    }),
  )

  play(
    'approval: another digest than that of the call is refused, and the question stays open',
    on(store, oneApproval, async ({ world, run, question, reply, of, status }, { asks }) => {
      const { sessionId, runId } = await run()
      const { interaction_id } = await question()
      const digest = (await of(sessionId, 'tool.approval_requested'))[0]?.payload.digest ?? ''
      // WHEN a person approves what they saw, and saw something else
      const wrong = world.sw.inbox.reply(interaction_id, {
        reply: { decision: 'approve', digest: 'of something else' },
      })
      // THEN that is refused, and nothing runs
      await expect(wrong).rejects.toMatchObject({ code: 'reply_unfit' })
      expect(await status(runId)).toBe('waiting_user')
      // AND with the digest of what would run it is accepted
      await reply(interaction_id, { decision: 'approve', digest })
      expect(asks.ran).toHaveLength(1)
    }),
  )

  play(
    'approval: it is for one call; the next call of the same tool is asked for again',
    on(
      store,
      () => {
        const asks = refundTool({ approval: 'always' })
        const script = [refund, call('payments.refund', { order: '43', cents: 1 }), say('Done.')]
        return { asks, tools: [asks], script }
      },
      async ({ run, question, reply, status }, { asks }) => {
        const { runId } = await run()
        const first = await question()
        await reply(first.interaction_id, { decision: 'approve' })
        // THEN the first call ran, and the second waits for an approval of its own
        expect(asks.ran).toHaveLength(1)
        const second = await question()
        expect(second.interaction_id).not.toBe(first.interaction_id)
        expect(await status(runId)).toBe('waiting_user')
      },
    ),
  )

  play(
    'approval: a pre-approved tool runs without a question, and the record says so',
    on(
      store,
      () => ({ ...oneApproval(), policy: { preApproved: ['payments.refund'] } }),
      async ({ run, of, status }, { asks }) => {
        const { sessionId, runId } = await run({ mode: 'auto' })
        expect(asks.ran).toHaveLength(1)
        expect(await of(sessionId, 'tool.approved')).toMatchObject([
          { trigger: 'auto_approved', actor: 'policy', payload: { approver: 'policy' } },
        ])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )
}

function oneApproval() {
  const asks = refundTool({ approval: 'always' })
  return { asks, tools: [asks], script: [refund, say('Done.')] }
}

function twoApprovals() {
  const asking = (name: string) => counting({ name, input: anything, approval: 'always', run: () => `${name} done` })
  const [first, second] = [asking('first'), asking('second')]
  const script = [together(call('first'), call('second')), say('Done.')]
  return { first, second, tools: [first, second], script }
}
