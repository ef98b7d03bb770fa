import { expect } from 'vitest'
import { z } from 'zod'
import { sessions } from '../../src/runelog/models.ts'
import { ask, call, say, together } from '../../src/runtime/scripted-model.ts'
import { counting, on, play, refundTool } from './stage.ts'
import type { Store } from './stores.ts'

const refund = call('payments.refund', { order: '42', cents: 500 })

/** Mistakes of people and models: a clear fault, or a consequence that the model sees. Nothing is lost, nothing runs. */
export function badInputPlays(store: Store) {
  play(
    'commands: an agent that is not configured, and an unknown session, run or interaction, are refused',
    on(
      store,
      () => ({ script: [say('Hello.')] }),
      async ({ world, run, submit }) => {
        await expect(submit({ agent: 'suport' })).rejects.toMatchObject({
          code: 'not_found',
          message: 'There is no agent suport. Known: support.',
        })
        await expect(submit({ sessionId: 'ses_none' })).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.runs.get('run_none')).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.runs.cancel('run_none')).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.runs.steer('run_none', 'x')).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.inbox.reply('int_none', { reply: {} })).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.executions.resume('exe_none', { reply: {} })).rejects.toMatchObject({ code: 'not_found' })
        // An id of another kind is no better than an unknown one.
        const { runId, sessionId } = await run()
        await expect(world.sw.inbox.reply(runId, { reply: {} })).rejects.toMatchObject({ code: 'not_found' })
        await expect(world.sw.runs.cancel(sessionId)).rejects.toMatchObject({ code: 'not_found' })
        expect(await world.sw.runelog.rows(sessions)).toHaveLength(1)
      },
    ),
  )

  const badCalls = {
    'arguments that do not fit': {
      written: call('payments.refund', { order: 42, cents: 'all of it' }),
      says: /The arguments do not fit payments\.refund: \/order: .*; \/cents: .*\. It was not run\./,
    },
    'arguments that are missing': { written: call('payments.refund'), says: /\/order: .*; \/cents: / },
    'broken JSON': {
      written: call('payments.refund', '{"order": "42", "cents": '),
      says: /The arguments are not JSON: .* payments\.refund was not run\./,
    },
    'no JSON at all': { written: call('payments.refund', 'refund it please'), says: /The arguments are not JSON/ },
    'a list instead of an object': { written: call('payments.refund', '[1, 2]'), says: /do not fit payments\.refund/ },
    'an unknown tool': {
      written: call('payments.refunds', { order: '42', cents: 500 }),
      says: /There is no tool "payments\.refunds"\. Did you mean payments\.refund\? Available tools: payments\.refund/,
    },
    'a tool with an odd name': { written: call('rm -rf /', {}), says: /There is no tool "rm -rf \/"/ },
  }
  for (const [name, { written, says }] of Object.entries(badCalls))
    play(
      `bad calls: a model that writes ${name} is told, and no tool runs`,
      on(
        store,
        () => {
          const tool = refundTool()
          return { tool, tools: [tool], script: [written, refund, say('Done.')] }
        },
        async ({ run, snapshots, of, status }, { tool }) => {
          const { sessionId, runId } = await run()
          // THEN the call failed with a sentence, and the model could do better
          const [bad, good] = await snapshots(sessionId)
          expect(bad).toMatchObject({ current_status: 'failed', error_message: expect.stringMatching(says) })
          expect(good).toMatchObject({ current_status: 'completed' })
          expect(tool.ran).toEqual([{ order: '42', cents: 500 }])
          const results = await of(sessionId, 'tool.result')
          expect(results.map((rune) => rune.payload.status)).toEqual(['error', 'success'])
          expect(await status(runId)).toBe('succeeded')
        },
      ),
    )

  play(
    'bad calls: a good call beside a bad one runs',
    on(
      store,
      () => {
        const tool = refundTool()
        return {
          tool,
          tools: [tool],
          script: [together(call('unknown'), refund, call('payments.refund', '{')), say('Done.')],
        }
      },
      async ({ run, snapshots }, { tool }) => {
        const { sessionId } = await run()
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['failed', 'completed', 'failed'])
        expect(tool.ran).toHaveLength(1)
      },
    ),
  )

  play(
    'bad calls: arguments are recorded as they were read, and ill-formed Unicode does not break the record',
    on(
      store,
      () => {
        const echo = counting({
          name: 'echo',
          input: z.object({ text: z.string(), times: z.int().default(1) }),
          readOnly: true,
          run: ({ text }) => `${text}${'x'.repeat(198)}😀`,
        })
        return {
          echo,
          tools: [echo],
          script: [call('echo', { text: 'a\ud800' }), call('echo', { text: 'b' }), say('Done.')],
        }
      },
      async ({ run, of, snapshots, status }, { echo }) => {
        const { sessionId, runId } = await run()
        // THEN half a character is refused, a default is filled in, and a summary does not cut a character in two
        expect(echo.ran).toEqual([{ text: 'b', times: 1 }])
        expect((await of(sessionId, 'tool.call')).at(-1)?.payload.arguments).toEqual({ text: 'b', times: 1 })
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['failed', 'completed'])
        const [, fact] = await of(sessionId, 'memory.committed')
        expect(fact?.payload.result_summary).toBe(`b${'x'.repeat(198)}`)
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'bad calls: the same call three times in a row ends the run, also with its defaults left out',
    on(
      store,
      () => {
        const look = counting({
          name: 'look',
          input: z.object({ at: z.string().default('here') }),
          readOnly: true,
          run: () => 'nothing',
        })
        return {
          look,
          tools: [look],
          script: [call('look'), call('look', { at: 'here' }), call('look', '{}'), say('?')],
        }
      },
      async ({ run }, { look }) => {
        const result = await (await run()).result()
        expect(result).toMatchObject({ status: 'failed', errorCode: 'REPEATED_CALLS' })
        expect(look.ran).toHaveLength(2)
      },
    ),
  )

  const unfit = {
    approval: {
      script: [refund, say('Done.')],
      replies: [{ decision: 'maybe' }, {}, 'yes', null, { decision: 'approve', cents: 1 }, { outcome: 'happened' }],
      fits: { decision: 'approve' },
    },
    form: {
      script: [ask({ title: 'Size?', fields: [{ name: 'size', type: 'number', required: true }] }), say('Done.')],
      replies: [
        { action: 'approve', data: { size: 'L' } },
        { action: 'approve' },
        { size: 4 },
        { decision: 'approve' },
      ],
      fits: { action: 'approve', data: { size: 4 } },
    },
  }
  for (const [name, { script, replies, fits }] of Object.entries(unfit))
    play(
      `replies: a reply that does not fit the ${name} is refused, and the question stays open`,
      on(
        store,
        () => ({ tools: [refundTool({ approval: 'always' })], script }),
        async ({ run, question, reply, status, runes }) => {
          const { sessionId, runId } = await run()
          const { interaction_id } = await question()
          const before = (await runes(sessionId)).length
          for (const unfitting of replies)
            await expect(reply(interaction_id, unfitting)).rejects.toMatchObject({ code: 'reply_unfit' })
          // THEN nothing was recorded and nothing ran, and a reply that fits is still welcome
          expect((await runes(sessionId)).length).toBe(before)
          expect(await status(runId)).toBe('waiting_user')
          await reply(interaction_id, fits)
          expect(await status(runId)).toBe('succeeded')
        },
      ),
    )

  play(
    'replies: a reply to a closed question is refused and names the winner',
    on(
      store,
      () => ({
        tools: [refundTool({ approval: 'always' })],
        script: [refund, say('Done.'), call('payments.refund', { order: '43', cents: 1 })],
      }),
      async ({ world, run, question, runes }) => {
        // GIVEN a question that ada answered
        const { sessionId } = await run()
        const { interaction_id } = await question()
        const approve = { reply: { decision: 'approve' }, repliedBy: 'ada' }
        await world.sw.inbox.reply(interaction_id, approve)
        await world.sw.idle()
        const before = (await runes(sessionId)).length
        // WHEN bob answers it, also in another process
        const late = { reply: { decision: 'deny' }, repliedBy: 'bob' }
        const closed = { code: 'interaction_closed', details: { state: 'answered', by: 'ada' } }
        await expect(world.sw.inbox.reply(interaction_id, late)).rejects.toMatchObject(closed)
        await world.restart()
        await expect(world.sw.inbox.reply(interaction_id, late)).rejects.toMatchObject(closed)
        expect((await runes(sessionId)).length).toBe(before)

        // AND one that was withdrawn with its run says so
        const second = await run({ sessionId })
        const withdrawn = await question()
        await world.sw.runs.cancel(second.runId, 'Never mind.')
        await expect(world.sw.inbox.reply(withdrawn.interaction_id, approve)).rejects.toMatchObject({
          code: 'interaction_closed',
          details: { state: 'withdrawn' },
        })
      },
    ),
  )

  play(
    'replies: the same reply with the same idempotency key takes effect once',
    on(
      store,
      () => ({
        script: [
          ask({
            title: 'Size?',
            fields: [
              { name: 'size', required: true },
              { name: 'colour', default: 'red' },
            ],
          }),
          say('Done.'),
        ],
      }),
      async ({ world, run, question, runes, of }) => {
        const { sessionId, runId } = await run()
        const { interaction_id } = await question()
        const given = { reply: { action: 'approve', data: { size: 'L' } }, idempotencyKey: 'form-1' }
        // WHEN it is sent twice at once, and again later, and again to another process
        const both = await Promise.all([
          world.sw.inbox.reply(interaction_id, given),
          world.sw.inbox.reply(interaction_id, given),
        ])
        expect(both.map((r) => r.isRepeated).sort()).toEqual([false, true])
        await world.sw.idle()
        const before = (await runes(sessionId)).length
        const repeated = {
          interactionId: interaction_id,
          sessionId,
          runId,
          isRepeated: true,
          snapshot: null,
          isAligned: true,
        }
        expect(await world.sw.inbox.reply(interaction_id, given)).toEqual(repeated)
        await world.restart()
        expect(await world.sw.inbox.reply(interaction_id, given)).toEqual(repeated)
        // THEN there is one answer
        expect((await runes(sessionId)).length).toBe(before)
        expect(await of(sessionId, 'interaction.answered')).toHaveLength(1)
        // AND another content under the same key is a mistake of the caller
        const other = { ...given, reply: { action: 'approve', data: { size: 'XL' } } }
        await expect(world.sw.inbox.reply(interaction_id, other)).rejects.toMatchObject({ code: 'key_reused' })
      },
    ),
  )
}
