import { expect } from 'vitest'
import { drained } from '../../src/adapters/system/testing.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { createGate } from './gate.ts'
import { loseWorker, pay, paying } from './paying.ts'
import { on, play } from './stage.ts'
import type { Store } from './stores.ts'

/** It is unknown whether an action happened, because its worker is gone. */
export function unknownOutcomePlays(store: Store) {
  play(
    'settlement: a lost worker leaves a question, and "it happened" completes the call',
    on(store, paying(pay, say('Bob is paid.')), async (stage, { bank, requests }) => {
      // GIVEN a worker that was lost while an irreversible action was under way
      const { sessionId, runId } = await loseWorker(stage, bank)

      // THEN the contract waits, the action is not repeated, and a person is asked
      const { snapshots, consequences, question, reply, of, status } = stage
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting', last_trigger: 'suspend' }])
      expect(await consequences(sessionId)).toMatchObject([{ consequence_label: 'UNKNOWN', has_side_effects: false }])
      expect(await status(runId)).toBe('waiting_user')
      expect(await of(sessionId, 'tool.result')).toEqual([])
      const { interaction_id, interaction_kind, deadline } = await question()
      expect({ interaction_kind, deadline }).toEqual({ interaction_kind: 'settlement', deadline: null })

      // WHEN the person says that it happened
      await reply(interaction_id, { outcome: 'happened', result: { transfer: 't-1' } })

      // THEN that is the result, told like any other, and the run goes on
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: { transfer: 't-1' } }])
      expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload)).toMatchObject([
        { status: 'success', output: { transfer: 't-1' } },
      ])
      expect(requests.at(-1)?.messages.at(-1)).toMatchObject({
        consequence: { consequence_label: 'SUCCESS', has_side_effects: true, was_suspended: true },
      })
      expect(await status(runId)).toBe('succeeded')
      expect(bank.ran).toHaveLength(1)
    }),
  )

  play(
    'fencing: a lost worker that comes back late records nothing and starts nothing',
    on(
      store,
      () => ({ ...createGate(), ...paying(pay, say('Done.'))() }),
      async (stage, { bank, refused }) => {
        // GIVEN a question about what a lost worker did
        const { sessionId } = await loseWorker(stage, bank)
        // WHEN that worker wakes, with the result in its hands
        bank.begun[0]?.resolve('paid after all')
        await expect.poll(() => refused).toEqual(['stale_fence'])
        // THEN nothing of it is recorded, and the question is still open
        expect(await stage.of(sessionId, 'tool.result')).toEqual([])
        await stage.reply((await stage.question()).interaction_id, { outcome: 'happened' })
        expect(await stage.snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: null }])
      },
    ),
  )

  play(
    'fencing: a worker that learns that another one holds its run lets go of it',
    on(store, paying(pay, say('Done.')), async (stage, { bank }) => {
      // GIVEN a worker that was thought lost, and whose run is over by now
      const run = await loseWorker(stage, bank)
      await stage.reply((await stage.question()).interaction_id, { outcome: 'happened' })
      expect(await stage.status(run.runId)).toBe('succeeded')
      // WHEN its process looks at the record, and its tool returns after all
      expect(await run.interrupt()).toMatchObject({ status: 'succeeded', accepted: false })
      bank.begun[0]?.resolve('paid')
      await drained()
      // THEN nothing comes of it: nothing is recorded, and no agent counts as crashed
      expect(await stage.snapshots(run.sessionId)).toMatchObject([{ current_status: 'completed', result: null }])
      expect(await stage.of(run.sessionId, 'agent.terminated')).toEqual([])
    }),
  )

  play(
    'settlement: "it did not happen" fails the call and frees its key',
    on(store, paying(pay, pay, say('Paid.')), async (stage, { bank }) => {
      // GIVEN a question about what a lost worker did
      const { sessionId, runId } = await loseWorker(stage, bank)
      // WHEN a person says that it did not happen
      await stage.world.sw.inbox.reply((await stage.question()).interaction_id, { reply: { outcome: 'did_not' } })
      await bank.hasBegun(2)
      // THEN the contract has failed, its key is free, and the model tries again under a new contract
      const [first, second] = await stage.snapshots(sessionId)
      expect(first).toMatchObject({ current_status: 'failed' })
      expect(second).toMatchObject({ current_status: 'running', idempotency_key: first?.idempotency_key })
      bank.begun[1]?.resolve('paid')
      await stage.world.sw.idle()
      expect(await stage.status(runId)).toBe('succeeded')
      expect((await stage.of(sessionId, 'tool.result')).map((r) => r.payload.status)).toEqual(['error', 'success'])
    }),
  )

  play(
    'settlement: "leave it" ends the run, keeps the key and opens the question again',
    on(store, paying(pay, pay, say('It is not clear.')), async (stage, { bank }) => {
      const { snapshots, question, reply, of, run, world } = stage
      const { sessionId, runId } = await loseWorker(stage, bank)
      // WHEN a person leaves it open
      await reply((await question()).interaction_id, { outcome: 'leave' })

      // THEN the run has failed and says why, the call has its result, the contract goes on waiting
      const ended = await world.sw.runs.show(runId)
      expect(ended).toMatchObject({ status: 'failed', error_code: 'OUTCOME_UNKNOWN' })
      expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['unknown'])
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])

      // AND the action is not started by the next run either
      await run({ sessionId })
      expect((await of(sessionId, 'tool.denied'))[0]?.payload.reason).toContain('is waiting')
      expect(bank.ran).toHaveLength(1)

      // AND to leave it once more changes nothing, while knowing it settles it
      const again = await question()
      await expect(reply(again.interaction_id, { outcome: 'leave' })).rejects.toMatchObject({ code: 'reply_unfit' })
      await reply(again.interaction_id, { outcome: 'happened' })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed' }])
      expect(await of(sessionId, 'tool.result')).toHaveLength(2)
    }),
  )

  play(
    'auto run: it waits for no person and fails with OUTCOME_UNKNOWN; the answer may come later',
    on(store, paying(pay, pay, say('Paid.')), async (stage, { bank }) => {
      const { snapshots, question, of, submit, status, world } = stage
      // GIVEN an auto run that lost its worker
      const { sessionId, runId } = await loseWorker(stage, bank, { mode: 'auto' })

      // THEN it never waited, and failed; the contract waits and its key is taken
      const moves = await of(sessionId, 'run.moved')
      expect(moves.map((rune) => rune.to)).toEqual(['running', 'queued', 'running', 'failed'])
      expect(moves.at(-1)?.payload).toMatchObject({ error_code: 'OUTCOME_UNKNOWN' })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['unknown'])

      // WHEN a person settles it much later
      await world.hand.advance(86_400_000)
      await world.sw.inbox.reply((await question()).interaction_id, {
        reply: { outcome: 'did_not', reason: 'Bob says no.' },
      })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'failed', error_message: 'Bob says no.' }])
      expect(await status(runId)).toBe('failed')

      // THEN the next run may try again
      const next = await submit({ sessionId, mode: 'auto' })
      await bank.hasBegun(2)
      bank.begun[1]?.resolve('paid')
      expect(await next.result()).toMatchObject({ status: 'succeeded' })
    }),
  )

  play(
    'settlement: the model learns in the next run what was settled after the last one',
    on(store, paying(pay, say('Fine.')), async (stage, { bank, requests }) => {
      // GIVEN a failed auto run whose unknown outcome was settled afterwards
      const { sessionId } = await loseWorker(stage, bank, { mode: 'auto' })
      await stage.reply((await stage.question()).interaction_id, { outcome: 'happened', result: 't-9' })
      // WHEN the next run begins
      await stage.run({ sessionId })
      // THEN its model sees the outcome in the place of the question, and as a fact
      const told = requests.at(-1)?.messages.filter((message) => message.role === 'tool')
      expect(told).toMatchObject([{ consequence: { consequence_label: 'SUCCESS', result: 't-9' } }])
      expect(requests.at(-1)?.memories).toEqual(['bank.pay: completed, irreversible (human-confirmed); t-9'])
    }),
  )

  play(
    'settlement: it can be given after the session is closed',
    on(store, paying(pay), async (stage, { bank }) => {
      const { world, snapshots, question, reply } = stage
      const { sessionId } = await loseWorker(stage, bank)
      // GIVEN a session that was closed over the open question
      await world.sw.sessions.close(sessionId)
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      // WHEN the answer comes after all
      await reply((await question()).interaction_id, { outcome: 'happened' })
      // THEN the sealed log takes it
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed' }])
      expect(await stage.inbox()).toEqual([])
    }),
  )

  play(
    'settlement: a cancel keeps the open question and the key',
    on(store, paying(pay), async (stage, { bank }) => {
      const { sessionId, runId } = await loseWorker(stage, bank)
      // WHEN the run is cancelled over the open question
      await stage.world.sw.runs.cancel(runId)
      // THEN the contract is not called off; the call has its result; the question can still be answered
      expect(await stage.status(runId)).toBe('canceled')
      expect(await stage.snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      expect((await stage.of(sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['unknown'])
      await stage.reply((await stage.question()).interaction_id, { outcome: 'did_not' })
      expect(await stage.snapshots(sessionId)).toMatchObject([{ current_status: 'failed' }])
    }),
  )

  play(
    'settlement: "it did not happen" is refused while a stopped worker may still wake',
    on(store, paying(pay, say('Not paid.')), async (stage, { bank }) => {
      const { world, question, reply, snapshots } = stage
      const started = world.hand.clock.now()
      const { sessionId } = await loseWorker(stage, bank, {}, { settings: { lateWorkerMs: 5_000 } })
      const { interaction_id } = await question()
      // WHEN a person says too early that it did not happen
      const refused = await reply(interaction_id, { outcome: 'did_not' }).catch((error) => error)
      // THEN it is refused with the moment from which it counts: start, timeout and grace
      const earliest = started + 10_000 + 5_000
      expect(refused).toMatchObject({ code: 'too_early', details: { earliest } })
      expect(refused.message).toContain(`from ${new Date(earliest).toISOString()} on`)
      await world.hand.advance(14_999)
      await expect(reply(interaction_id, { outcome: 'did_not' })).rejects.toMatchObject({ code: 'too_early' })
      await world.hand.advance(1)
      await reply(interaction_id, { outcome: 'did_not' })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'failed' }])
    }),
  )

  for (const [name, definition] of [
    ['read-only', { readOnly: true }],
    ['idempotent', { idempotent: true, irreversible: true }],
  ] as const)
    play(
      `tool retry: a call that is ${name} is repeated after its worker is lost, and no person is asked`,
      on(store, paying(pay, say('Done.'), definition), async (stage, { bank }) => {
        const { world, submit, snapshots, status, of } = stage
        const { sessionId, runId } = await submit()
        await bank.hasBegun()
        // WHEN the worker is lost
        await world.revive()
        await bank.hasBegun(2)
        // THEN the same contract is carried out again, with the same key
        bank.begun[1]?.resolve('done')
        await world.sw.idle()
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: 'done' }])
        expect(await of(sessionId, 'interaction.opened')).toEqual([])
        expect(await status(runId)).toBe('succeeded')
      }),
    )
}
