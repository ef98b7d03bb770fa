import { expect } from 'vitest'
import type { Rune } from '../../src/runes/rune.ts'
import { call, say, together } from '../../src/runtime/scripted-model.ts'
import type { Probed } from '../../src/runtime/tools/tool.ts'
import { pay, paying, until } from './paying.ts'
import { heldTool, on, play } from './stage.ts'
import type { Store } from './stores.ts'

/** A tool that was given up has come back, and says that it failed. */
const isReportOfFailure = (rune: Rune) =>
  rune.kind === 'contract.evidence_added' && (rune as Rune<'contract.evidence_added'>).payload.reported === 'failed'

/** Actions that were given up: because they took too long, or because only a probe can tell what became of them. */
export function givenUpPlays(store: Store) {
  play(
    'timeout: an irreversible action that exceeds its timeout has an unknown outcome',
    on(store, paying(pay, say('Paid.')), async (stage, { bank }) => {
      const { world, submit, snapshots, of, question, reply, status } = stage
      // GIVEN an irreversible action under way
      const { sessionId, runId } = await submit()
      await bank.hasBegun()
      // WHEN its time is up
      await world.hand.advance(10_000)
      await world.sw.idle()
      // THEN it is not recorded as failed: a person is asked
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      expect(await of(sessionId, 'tool.result')).toEqual([])
      expect(await status(runId)).toBe('waiting_user')
      await reply((await question()).interaction_id, { outcome: 'happened', result: 'slow, but paid' })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: 'slow, but paid' }])
    }),
  )

  play(
    'settle: while a tool that timed out may still act, "did not happen" is refused',
    on(store, paying(pay, say('Not paid.')), async (stage, { bank }) => {
      const { world, submit, snapshots, question, reply } = stage
      // GIVEN a timeout of an action that does not stop when it is told to
      const { sessionId } = await submit()
      await bank.hasBegun()
      await world.hand.advance(10_000)
      await world.sw.idle()
      const { interaction_id } = await question()
      // WHEN a person says at once that it did not happen
      const early = reply(interaction_id, { outcome: 'did_not' })
      // THEN that is refused, with the moment from which it is accepted
      await expect(early).rejects.toMatchObject({ code: 'too_early' })
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'waiting' }])
      // AND however long it takes, until the tool has returned
      await world.hand.advance(60_000)
      await expect(reply(interaction_id, { outcome: 'did_not' })).rejects.toMatchObject({ code: 'too_early' })
      bank.begun[0]?.reject(new Error('It was stopped at last.'))
      await world.until(sessionId, isReportOfFailure)
      // The report is on record. The store hears a moment later that the tool is not at work any more.
      const isTaken = async () => {
        const refusal = await reply(interaction_id, { outcome: 'did_not' }).then(
          () => null,
          ({ code }) => code,
        )
        if (refusal !== null) expect(refusal).toBe('too_early')
        return refusal === null
      }
      await until(() => world.hand.advance(0), isTaken)
      expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'failed' }])
    }),
  )

  play(
    'timeout: an irreversible action that exceeds its timeout ends an auto run, and its question stays open',
    on(store, paying(pay), async ({ world, submit, snapshots, question }, { bank }) => {
      const run = await submit({ mode: 'auto' })
      await bank.hasBegun()
      // WHEN its time is up
      await world.hand.advance(10_000)
      // THEN the run has failed over it, and the contract waits for a person who knows
      expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'OUTCOME_UNKNOWN' })
      expect(await snapshots(run.sessionId)).toMatchObject([{ current_status: 'waiting' }])
      expect(await question()).toMatchObject({ interaction_kind: 'settlement', run_id: run.runId })
    }),
  )

  play(
    'timeout: an auto run waits for effects under way beside an unknown outcome',
    on(
      store,
      () => {
        const lost = heldTool({ name: 'lost', irreversible: true, parallel: true, timeoutMs: 1_000 })
        const good = heldTool({ name: 'good', irreversible: true, parallel: true, timeoutMs: 60_000 })
        return { lost, good, tools: [lost, good], script: [together(call('lost'), call('good'))] }
      },
      async ({ world, submit, snapshots }, { lost, good }) => {
        // GIVEN two irreversible actions under way
        const run = await submit({ mode: 'auto' })
        await Promise.all([lost.hasBegun(), good.hasBegun()])
        // WHEN the outcome of one is unknown and the other comes to its end
        await world.hand.advance(1_000)
        good.begun[0]?.resolve('good')
        expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'OUTCOME_UNKNOWN' })
        // THEN what is known is recorded, and only the other one is a question
        expect(await snapshots(run.sessionId)).toMatchObject([
          { action_summary: 'lost', current_status: 'waiting' },
          { action_summary: 'good', current_status: 'completed', result: 'good' },
        ])
        expect(await world.sw.inbox.list()).toHaveLength(1)
      },
    ),
  )

  play(
    'given up: a call that never began is withdrawn when an unknown outcome ends the run',
    on(
      store,
      () => {
        const first = heldTool({ name: 'first', irreversible: true, timeoutMs: 1_000 })
        const second = heldTool({ name: 'second', irreversible: true })
        return { first, second, tools: [first, second], script: [together(call('first'), call('second'))] }
      },
      async ({ world, submit, snapshots, of }, { first, second }) => {
        // GIVEN two actions that are carried out one after the other
        const run = await submit({ mode: 'auto' })
        await first.hasBegun()
        // WHEN the outcome of the first is unknown
        await world.hand.advance(1_000)
        expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'OUTCOME_UNKNOWN' })
        // THEN the second, which never began, is called off, and its key is free
        expect(second.ran).toEqual([])
        expect(await snapshots(run.sessionId)).toMatchObject([
          { action_summary: 'first', current_status: 'waiting' },
          { action_summary: 'second', current_status: 'cancelled' },
        ])
        expect((await of(run.sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual([
          'unknown',
          'cancelled',
        ])
      },
    ),
  )

  const probes = {
    happened: { probe: async () => ({ outcome: 'happened', result: 't-7' }) as const, status: 'completed' },
    'did not': { probe: async () => ({ outcome: 'did_not' }) as const, status: 'failed' },
    'cannot tell': { probe: async () => ({ outcome: 'cannot_tell' }) as const, status: 'waiting' },
    'throws itself': { probe: () => Promise.reject(new Error('The bank is down.')), status: 'waiting' },
  }
  for (const [name, { probe, status }] of Object.entries(probes))
    for (const how of ['its worker is lost', 'its time is up'] as const)
      play(
        `probe: "${name}" decides when ${how}`,
        on(
          store,
          () => {
            const keys: string[] = []
            const asked = (key: string) => {
              keys.push(key)
              return probe()
            }
            const warnings = name === 'throws itself' ? ['a probe failed'] : []
            return { keys, warnings, ...paying(pay, say('Done.'), { irreversible: true, probe: asked })() }
          },
          async (stage, { bank, keys }) => {
            const { world, submit, snapshots, inbox, of } = stage
            // GIVEN an irreversible action with a probe, under way
            const { sessionId } = await submit()
            await bank.hasBegun()
            // WHEN its outcome is unknown
            if (how === 'its worker is lost') await world.revive()
            else await world.hand.advance(10_000)
            // A probe cannot know whether a tool will still act: its "did not" counts when the tool has returned.
            if (how === 'its time is up') bank.begun[0]?.reject(new Error('It heeds its signal.'))
            if (name === 'did not') {
              if (how === 'its time is up') await world.until(sessionId, isReportOfFailure)
              // In small steps: a probe is patient for one lease, and the store needs real time to see the tool's end.
              await until(
                () => world.hand.advance(50),
                async () => (await snapshots(sessionId))[0]?.is_terminal === true,
              )
            }
            await world.sw.idle()

            // THEN the outside is asked with the key of the action, and a person only if it does not know
            const [contract] = await snapshots(sessionId)
            expect(contract?.current_status).toBe(status)
            expect(new Set(keys)).toEqual(new Set([contract?.idempotency_key]))
            expect(await inbox()).toHaveLength(status === 'waiting' ? 1 : 0)
            if (status === 'completed') expect(contract?.result).toBe('t-7')
            expect(bank.ran).toHaveLength(1)
            expect(await of(sessionId, 'tool.result')).toHaveLength(status === 'waiting' ? 0 : 1)
          },
        ),
      )

  play(
    'probe: `did_not` is asked for again once no worker can begin the action',
    on(
      store,
      () => {
        const answers = ['did_not', 'happened'] as const
        let asked = 0
        const probe = async (): Promise<Probed> => ({ outcome: answers[asked++] ?? 'cannot_tell' })
        return paying(pay, say('Done.'), { irreversible: true, probe })()
      },
      async ({ world, submit, snapshots, of }, { bank }) => {
        // GIVEN a tool that was given up, and is still at it, when the probe finds nothing
        const { sessionId } = await submit()
        await bank.hasBegun()
        await world.hand.advance(10_000)
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'running' }])
        // WHEN the tool cannot act any more
        await world.hand.advance(10_000)
        await world.sw.idle()
        // THEN what is so by then counts
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed' }])
        expect(await of(sessionId, 'interaction.opened')).toEqual([])
      },
    ),
  )

  play(
    'probe: one that never answers counts as cannot_tell',
    on(
      store,
      paying(pay, say('Done.'), { irreversible: true, probe: () => new Promise<never>(() => {}) }),
      async ({ world, submit, snapshots, question }, { bank }) => {
        // GIVEN a lost worker, and a probe that hangs
        const { sessionId } = await submit()
        await bank.hasBegun()
        await world.revive()
        // WHEN the probe has had as much time as the tool
        await until(
          () => world.hand.advance(1_000),
          async () => (await snapshots(sessionId))[0]?.current_status === 'waiting',
        )
        await world.sw.idle()
        // THEN a person is asked
        expect(await question()).toMatchObject({ interaction_kind: 'settlement' })
      },
    ),
  )
}
