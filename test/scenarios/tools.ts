import { expect } from 'vitest'
import { z } from 'zod'
import { call, say, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../src/runtime/tools/tool.ts'
import { scenario } from '../support/scenario.ts'
import { writable } from '../support/writable.ts'
import { counting, heldTool, on, refundTool } from './stage.ts'
import type { Store } from './stores.ts'

const refund = call('payments.refund', { order: '42', cents: 500 })
const anything = z.looseObject({})

/** Specification 002, Tool Lifecycle, and what the notes around it ask for. */
export function toolPlays(store: Store) {
  scenario(
    'TO-02',
    'Each row of the table is a rune with its payload',
    on(
      store,
      () => {
        const slow = heldTool({ name: 'slow', timeoutMs: 1_000 })
        const stopped = heldTool({ name: 'stopped' })
        const tools = [
          counting({
            name: 'good',
            input: anything,
            approval: 'always',
            run: (_args, { progress }) => {
              progress('half way', 'stdout')
              return 'done'
            },
          }),
          counting({ name: 'unwanted', input: anything, approval: 'always', run: () => 'never' }),
          counting({ name: 'bad', input: anything, run: () => Promise.reject(new Error('It broke.')) }),
          slow,
          stopped,
        ]
        const script = [together(call('good', { n: 1 }), call('unwanted')), call('bad'), call('slow'), call('stopped')]
        return { slow, stopped, tools, script, settings: { cancelGraceMs: 0 } }
      },
      async ({ world, submit, inbox, of }, { slow, stopped }) => {
        // GIVEN a call for every way through the machine
        const run = await submit()
        await world.sw.idle()
        const [good, unwanted] = await inbox()
        await world.sw.inbox.reply(unwanted?.interaction_id ?? '', { reply: { decision: 'deny', reason: 'No.' } })
        await world.sw.idle()
        await world.sw.inbox.reply(good?.interaction_id ?? '', { reply: { decision: 'approve' }, repliedBy: 'ada' })
        await slow.hasBegun()
        await world.hand.advance(1_000)
        await stopped.hasBegun()
        await run.cancel('Enough.')
        await run.result()

        // THEN what is recorded of each is what the table says
        const { sessionId } = run
        const told = async (...kinds: Parameters<typeof of>[1][]) =>
          (await of(sessionId, ...kinds)).map(({ kind, payload }) => [kind, payload] as const)
        const calls = await of(sessionId, 'tool.call')
        const id = Object.fromEntries(calls.map((rune) => [rune.payload.tool_name, rune.payload.call_id]))
        expect(calls[0]?.payload).toMatchObject({ call_id: id.good, tool_name: 'good', arguments: { n: 1 } })
        expect(await told('tool.approval_requested')).toMatchObject([
          ['tool.approval_requested', { call_id: id.good, policy_reason: expect.stringContaining('need approval') }],
          ['tool.approval_requested', { call_id: id.unwanted }],
        ])
        expect(await told('tool.approved', 'tool.denied')).toEqual([
          ['tool.denied', { call_id: id.unwanted, reason: 'No.' }],
          ['tool.approved', { call_id: id.good, approver: 'ada', digest: expect.stringMatching(/^[0-9a-f]{64}$/) }],
        ])
        expect(await told('tool.progress')).toEqual([
          ['tool.progress', { call_id: id.good, stream: 'stdout', chunk: 'half way' }],
        ])
        const results = await of(sessionId, 'tool.result')
        const byTool = Object.fromEntries(results.map((rune) => [rune.payload.call_id, rune]))
        const [done, refused, broke, late, ended] = [id.good, id.unwanted, id.bad, id.slow, id.stopped].map(
          (call_id) => byTool[call_id ?? ''],
        )
        expect(done).toMatchObject({ to: 'completed_result', payload: { status: 'success', output: 'done' } })
        expect(refused).toMatchObject({ payload: { status: 'denied', error: 'No.' } })
        expect(refused).not.toHaveProperty('machine')
        expect(broke).toMatchObject({ to: 'error_result', payload: { status: 'error', error: 'It broke.' } })
        expect(late).toMatchObject({ to: 'timeout_result', payload: { status: 'timeout' } })
        expect(ended).toMatchObject({ to: 'cancelled_result', payload: { status: 'cancelled', error: 'Enough.' } })
        expect(results).toHaveLength(5)
      },
    ),
  )

  scenario(
    'TO-04',
    'INV-TOOL-CALL-BEFORE-RESULT: the log itself refuses a result without its call',
    on(
      store,
      () => ({ tools: [refundTool()], script: [refund, say('Done.')] }),
      async ({ world, run, of }) => {
        // GIVEN a session in which a call was made
        const { sessionId, runId } = await run()
        const [made] = await of(sessionId, 'tool.call')
        const [result] = await of(sessionId, 'tool.result')
        expect(made?.event_id).toBeLessThan(result?.event_id ?? 0)

        // WHEN someone writes the result of a call that was never made
        const forged = (call_id: string) =>
          writable(world.sw).append({
            session_id: sessionId,
            runes: [
              {
                kind: 'tool.result',
                actor: 'tool_node',
                at: world.hand.clock.now(),
                run_id: runId,
                call_id,
                machine: 'tool',
                subject_id: call_id,
                from: 'executing',
                to: 'completed_result',
                trigger: 'success',
                payload: { call_id, status: 'success', output: 'forged' },
              },
            ],
          })

        // THEN it is refused; and so is a second result of the one that was made
        expect(await forged('call_nobody_made')).toMatchObject({
          code: expect.stringMatching(/not_found|transition_refused/),
        })
        expect(await forged(made?.call_id ?? '')).toMatchObject({ code: 'transition_refused' })
        expect(await of(sessionId, 'tool.result')).toHaveLength(1)
      },
    ),
  )

  scenario(
    'TO-05',
    'INV-TOOL-APPROVAL-BEFORE-EXEC: nothing that needs approval runs before it',
    on(
      store,
      () => {
        /** The record at the moment the tool ran. */
        const seen: string[] = []
        const look: { at?: (session_id: string) => Promise<readonly { kind: string; to?: string }[]> } = {}
        const guarded = counting({
          name: 'guarded',
          input: anything,
          approval: 'always',
          async run(_args, { sessionId }: ToolContext) {
            const runes = (await look.at?.(sessionId)) ?? []
            seen.push(...runes.slice(-2).map((rune) => `${rune.kind} ${rune.to}`))
            return 'done'
          },
        })
        return { seen, look, guarded, tools: [guarded], script: [call('guarded'), say('Done.')] }
      },
      async ({ world, run, runes, question, reply, status }, { guarded, look, seen }) => {
        look.at = runes
        // GIVEN a call that needs approval
        const { runId } = await run()
        // THEN it does not run before a person has approved it, whatever else happens
        await world.hand.advance(86_400_000)
        await world.restart()
        expect(guarded.ran).toEqual([])
        expect(await status(runId)).toBe('waiting_user')
        // AND when it is approved, the approval is on record before it runs
        await reply((await question()).interaction_id, { decision: 'approve' })
        expect(guarded.ran).toHaveLength(1)
        expect(seen).toEqual(['tool.approved executing', 'contract.moved running'])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'TO-05',
    'What was denied, by a person or by policy, does not run',
    on(
      store,
      () => {
        const asks = refundTool({ approval: 'always' })
        return { asks, tools: [asks], script: [refund, say('Well.'), refund, say('Well.')] }
      },
      async ({ run, reply, question, of, consequences }, { asks }) => {
        // GIVEN an approval that a person refuses, and one that no person can give
        const { sessionId } = await run()
        await reply((await question()).interaction_id, { decision: 'deny', reason: 'Too much.' })
        await run({ sessionId, mode: 'auto' })
        // THEN neither ran, and the model knows why
        expect(asks.ran).toEqual([])
        expect(await consequences(sessionId)).toMatchObject([
          { consequence_label: 'REJECTED', error_message: 'Too much.', was_suspended: true },
          { consequence_label: 'REJECTED', error_message: expect.stringContaining('auto run'), was_suspended: false },
        ])
        expect((await of(sessionId, 'tool.denied')).map((rune) => rune.actor)).toEqual(['human', 'policy'])
      },
    ),
  )

  scenario(
    'TO-06',
    'tool.progress carries stdout and stderr chunks of a long-running tool while it runs',
    on(
      store,
      () => {
        const ends = Promise.withResolvers<string>()
        const context = Promise.withResolvers<ToolContext>()
        const build = counting({
          name: 'build',
          input: anything,
          run(_args, given) {
            // Before it first waits for anything: two streams, and one chunk that is long at once.
            given.progress('compiling\n', 'stdout')
            given.progress('a warning\n', 'stderr')
            given.progress('x'.repeat(3_000), 'stdout')
            context.resolve(given)
            return ends.promise
          },
        })
        return { ends, context, tools: [build], script: [call('build'), say('Built.')] }
      },
      async ({ world, submit, of, runes }, { ends, context }) => {
        // GIVEN a tool that reports at once and then goes on working
        const { sessionId, runId } = await submit()
        const { progress } = await context.promise
        const chunks = async () =>
          (await of(sessionId, 'tool.progress')).map(({ payload }) => [payload.stream, payload.chunk.length])
        await expect.poll(chunks).toEqual([
          ['stdout', 10],
          ['stderr', 10],
          ['stdout', 3_000],
        ])
        // WHEN it reports small pieces
        progress('link', 'stdout')
        progress('ing', 'stdout')
        // THEN they come together, while it is still running
        await world.hand.advance(250)
        await expect.poll(async () => (await of(sessionId, 'tool.progress')).at(-1)?.payload.chunk).toBe('linking')
        expect(await of(sessionId, 'tool.result')).toEqual([])

        // AND the last words come before the result, and nothing after it
        progress('almost', 'message')
        ends.resolve('built')
        await world.sw.idle()
        progress('too late', 'message')
        await world.hand.advance(1_000)
        const kinds = (await runes(sessionId)).filter((r) => r.run_id === runId && r.call_id !== undefined)
        expect(kinds.map((rune) => rune.kind).slice(-4)).toEqual([
          'tool.progress',
          'tool.result',
          'contract.moved',
          'memory.committed',
        ])
        expect((await of(sessionId, 'tool.progress')).at(-1)?.payload.chunk).toBe('almost')
      },
    ),
  )

  scenario(
    'TO-07',
    'Approval timeout, execution timeout and cancellation each end in their own result',
    on(
      store,
      () => {
        const asks = counting({ name: 'asks', input: anything, approval: 'always', run: () => 'never' })
        const slow = heldTool({ name: 'slow', timeoutMs: 1_000 })
        const stopped = heldTool({ name: 'stopped' })
        return {
          asks,
          slow,
          stopped,
          tools: [asks, slow, stopped],
          script: [call('asks'), call('slow'), call('stopped')],
          settings: { replyTimeoutMs: 60_000, cancelGraceMs: 0 },
        }
      },
      async ({ world, submit, of, snapshots }, { asks, slow, stopped }) => {
        // GIVEN a run that lets deadlines decide
        const run = await submit({ interactiveRequireUserReply: false })
        await world.sw.idle()
        // WHEN no person approves in time
        await world.hand.advance(60_000)
        // AND a tool takes too long
        await slow.hasBegun()
        await world.hand.advance(1_000)
        // AND the run is cancelled while another is at it
        await stopped.hasBegun()
        await run.cancel()
        await run.result()

        // THEN each call has its own result, and each contract its own end
        const results = await of(run.sessionId, 'tool.result')
        expect(results.map(({ from, trigger, to, payload }) => [from, trigger, to, payload.status])).toEqual([
          ['awaiting_approval', 'approval_timeout', 'timeout_result', 'timeout'],
          ['executing', 'execution_timeout', 'timeout_result', 'timeout'],
          ['executing', 'cancelled', 'cancelled_result', 'cancelled'],
        ])
        expect(asks.ran).toEqual([])
        expect(await snapshots(run.sessionId)).toMatchObject([
          { current_status: 'cancelled', last_trigger: 'timeout', last_actor: 'timer' },
          { current_status: 'failed', last_trigger: 'fail', error_message: 'It took longer than 1000 ms.' },
          { current_status: 'cancelled', last_trigger: 'cancel' },
        ])
        const moves = await of(run.sessionId, 'contract.moved')
        expect(moves.find((move) => move.trigger === 'fail')?.payload.error_kind).toBe('timeout')
      },
    ),
  )

  scenario(
    'TO-07',
    'A tool that is told to stop hears it',
    on(
      store,
      () => {
        const begun = Promise.withResolvers<AbortSignal>()
        const polite = tool({
          name: 'polite',
          input: anything,
          timeoutMs: 1_000,
          run: (_args, { signal }) => {
            begun.resolve(signal)
            return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
          },
        })
        return { begun, tools: [polite], script: [call('polite'), say('Late.')] }
      },
      async ({ world, submit, of }, { begun }) => {
        const { sessionId } = await submit()
        const signal = await begun.promise
        expect(signal.aborted).toBe(false)
        // WHEN its time is up
        await world.hand.advance(1_000)
        await world.sw.idle()
        // THEN it heard that, and what it threw because of it is no error of its own
        expect(signal.aborted).toBe(true)
        expect((await of(sessionId, 'tool.result'))[0]?.payload.status).toBe('timeout')
      },
    ),
  )
}
