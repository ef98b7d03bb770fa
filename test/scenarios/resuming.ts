import { expect } from 'vitest'
import type { Statewright } from '../../src/app/statewright.ts'
import { graphState } from '../../src/observation/graph-state.ts'
import type { Draft, Rune } from '../../src/runes/rune.ts'
import { ask, call, say, together } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { record } from '../support/writable.ts'
import { heldTool, on, play, refundTool } from './stage.ts'
import type { Store } from './stores.ts'
import { talkingModel } from './talking.ts'

const form = (title: string) => ask({ title, fields: [{ name: 'size', required: true }] })
const answer = { action: 'approve', data: { size: 'L' } }
const refund = call('payments.refund', { order: '42', cents: 500 })

type AnswerAs = (sw: Statewright, of: { interaction_id: string; execution_id: string }) => Promise<unknown>

/** A contract that was suspended is cancelled by a rune of its own; no runtime writes that without closing the question. */
function calledOff(suspended: Rune<'contract.moved'> | undefined, at: number): Draft {
  const { run_id, agent_id, turn_id, call_id, execution_id, subject_id } = suspended ?? {}
  const about = { run_id, agent_id, turn_id, call_id, execution_id, subject_id }
  const move = { machine: 'contract', from: 'waiting', to: 'cancelled', trigger: 'cancel' }
  return { kind: 'contract.moved', at, actor: 'human', payload: {}, ...about, ...move } as Draft
}

/** How much is on record, but for that a waiting run outlived a restart. */
const written = (runes: readonly Rune[]) => runes.filter((rune) => rune.trigger !== 'restart.preserve_waiting').length

/** Specification 000, Suspend and Resume; specification 001, Resume Alignment Check. */
export function resumingPlays(store: Store) {
  scenario(
    'EC-14',
    'Valid resume after human response',
    on(
      store,
      () => talkingModel([form('Size?'), say('Done.')], { holds: () => false }),
      async ({ world, run, snapshots, of, runes, status }, { requests }) => {
        // GIVEN a contract that waits, and another process
        const { sessionId, runId } = await run()
        await world.restart()
        const [waiting] = await snapshots(sessionId)
        expect(waiting?.current_status).toBe('waiting')

        // WHEN it is resumed with the answer
        const resumed = await world.sw.executions.resume(waiting?.execution_id ?? '', { reply: answer })
        await world.sw.idle()

        // THEN it was seen to wait, and went waiting → running → completed with the answer as its result
        expect(resumed.snapshot).toMatchObject({ execution_id: waiting?.execution_id, current_status: 'waiting' })
        expect((await of(sessionId, 'contract.moved')).slice(-2).map(({ from, to }) => [from, to])).toEqual([
          ['waiting', 'running'],
          ['running', 'completed'],
        ])
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: { size: 'L' } }])

        // AND the graph went on at reasoning, with the consequence
        expect(requests).toHaveLength(2)
        expect(requests[1]?.messages.at(-1)).toMatchObject({
          role: 'tool',
          consequence: { consequence_label: 'SUCCESS', result: { size: 'L' }, was_suspended: true },
        })
        const kinds = (await runes(sessionId)).map((rune) => rune.kind)
        expect(kinds.indexOf('turn.tools_finished')).toBeLessThan(kinds.indexOf('turn.completed'))
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'EC-15',
    'Invalid resume on terminated contract',
    on(
      store,
      () => talkingModel([form('Size?'), say('Done.'), form('Colour?')], { holds: () => false }),
      async ({ world, run, snapshots, runes }, { requests }) => {
        // GIVEN one contract that completed and one that was cancelled
        const { sessionId } = await run()
        const [first] = await snapshots(sessionId)
        await world.sw.executions.resume(first?.execution_id ?? '', { reply: answer })
        await world.sw.idle()
        const second = await run({ sessionId })
        await second.cancel()
        await world.sw.idle()
        const contracts = await snapshots(sessionId)
        expect(contracts.map((s) => s.current_status)).toEqual(['completed', 'cancelled'])
        const before = [(await runes(sessionId)).length, requests.length]

        // WHEN either is resumed, also by another process
        const resumeAll = async () => {
          for (const { execution_id, current_status } of contracts)
            await expect(world.sw.executions.resume(execution_id, { reply: answer })).rejects.toMatchObject({
              code: 'transition_refused',
              details: { machine: 'contract', from: current_status, on: 'resume', refusal: 'terminal' },
            })
        }
        await resumeAll()
        await world.restart()
        await resumeAll()

        // THEN nothing was recorded, and nothing ran
        await world.sw.idle()
        expect([(await runes(sessionId)).length, requests.length]).toEqual(before)
      },
    ),
  )

  scenario(
    'EC-15',
    'A contract that is over stays over while others of its round still wait',
    on(
      store,
      () => ({ script: [together(form('Size?'), form('Colour?')), say('Done.')] }),
      async ({ world, run, snapshots, runes, status }) => {
        // GIVEN two questions of which one is answered and used
        const { sessionId, runId } = await run()
        const [first] = await snapshots(sessionId)
        await world.sw.executions.resume(first?.execution_id ?? '', { reply: answer })
        await world.sw.idle()
        const before = (await runes(sessionId)).length
        // WHEN it is resumed again
        await expect(world.sw.executions.resume(first?.execution_id ?? '', { reply: answer })).rejects.toMatchObject({
          code: 'transition_refused',
          details: { from: 'completed', refusal: 'terminal' },
        })
        // THEN nothing happens, and the other is still waited for
        expect((await runes(sessionId)).length).toBe(before)
        expect(await status(runId)).toBe('waiting_user')
      },
    ),
  )

  scenario(
    'EC-15',
    'What has not been suspended cannot be resumed either',
    on(
      store,
      () => {
        const slow = heldTool({ name: 'slow' })
        return { slow, tools: [slow], script: [together(call('slow', { n: 1 }), call('slow', { n: 2 })), say('Done.')] }
      },
      async ({ world, submit, snapshots, of }, { slow }) => {
        const { sessionId } = await submit()
        await slow.hasBegun()
        const contracts = await snapshots(sessionId)
        expect(contracts.map((s) => s.current_status)).toEqual(['running', 'pending'])
        for (const { execution_id, current_status } of contracts)
          await expect(world.sw.executions.resume(execution_id, { reply: answer })).rejects.toMatchObject({
            code: 'transition_refused',
            details: { from: current_status },
          })
        expect(await of(sessionId, 'interaction.answered')).toEqual([])
        slow.begun[0]?.resolve(1)
        await slow.hasBegun(2)
        slow.begun[1]?.resolve(2)
        await world.sw.idle()
      },
    ),
  )

  scenario(
    'OB-08',
    'Successful alignment before resume',
    on(
      store,
      () => ({ script: [form('Size?'), say('Done.')] }),
      async ({ world, run, runes, snapshots, of, status }) => {
        // GIVEN a checkpoint with one contract that waits
        const { sessionId, runId } = await run()
        const { expected_waiting: expectedWaiting } = graphState(await runes(sessionId))
        const [waiting] = await snapshots(sessionId)
        expect(expectedWaiting).toEqual([waiting?.execution_id])

        // WHEN it is resumed
        const { execution_id = '' } = waiting ?? {}
        const resumed = await world.sw.executions.resume(execution_id, { reply: answer, expectedWaiting })

        // THEN a snapshot was taken first, the count was found to match, and it went on
        expect(resumed).toMatchObject({ isAligned: true, snapshot: { ...waiting, current_status: 'waiting' } })
        await world.sw.idle()
        expect(await of(sessionId, 'run.misaligned')).toEqual([])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'OB-09',
    'Alignment warning on count mismatch',
    on(
      store,
      () => ({
        script: [together(form('Size?'), form('Colour?')), say('Done.')],
        warnings: ['the number of waiting contracts is not the expected one'],
      }),
      async ({ world, run, snapshots, of, status, question }) => {
        // GIVEN a checkpoint that expects one waiting contract where there are two
        const { sessionId, runId } = await run()
        const [first, second] = await snapshots(sessionId)
        const expectedWaiting = [first?.execution_id ?? '']

        // WHEN one of them is resumed
        const resumed = await world.sw.executions.resume(first?.execution_id ?? '', { reply: answer, expectedWaiting })
        await world.sw.idle()

        // THEN the difference is logged and on record
        expect(resumed.isAligned).toBe(false)
        const difference = { expected: expectedWaiting, found: [first?.execution_id, second?.execution_id] }
        expect(world.warnings).toMatchObject([{ details: { run_id: runId, ...difference } }])
        expect((await of(sessionId, 'run.misaligned')).map((rune) => rune.payload)).toEqual([difference])

        // AND the resume went on all the same
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['completed', 'waiting'])
        expect((await question()).prompt).toBe('Colour?')
        expect(await status(runId)).toBe('waiting_user')
      },
    ),
  )

  scenario(
    'OB-09',
    'Without expected contracts, those whose question is open are expected',
    on(
      store,
      () => ({
        script: [together(form('Size?'), form('Colour?'), form('Fabric?')), say('Done.')],
        warnings: ['the number of waiting contracts is not the expected one'],
      }),
      async ({ world, run, snapshots, of, status }) => {
        // GIVEN three contracts that wait, of which one is answered before a worker takes the run
        const { sessionId, runId } = await run()
        const [size, colour, fabric] = (await snapshots(sessionId)).map((s) => s.execution_id)
        await world.sw.sessions.pause(sessionId)
        expect(await world.sw.executions.resume(size ?? '', { reply: answer })).toMatchObject({ isAligned: true })
        // AND one that is called off, but whose question is still open
        const [suspended] = (await of(sessionId, 'contract.moved')).filter((rune) => rune.subject_id === colour)
        const { agent_id, turn_id, call_id, subject_id } = suspended ?? {}
        const about = { run_id: runId, agent_id, turn_id, call_id, execution_id: colour, subject_id }
        const move = { machine: 'contract', from: 'waiting', to: 'cancelled', trigger: 'cancel' }
        const called_off = {
          kind: 'contract.moved',
          at: world.hand.clock.now(),
          actor: 'human',
          payload: {},
          ...about,
          ...move,
        }
        await record(world.sw, sessionId, called_off as Draft)
        await world.restart()

        // WHEN the last is resumed
        expect(await world.sw.executions.resume(fabric ?? '', { reply: answer })).toMatchObject({ isAligned: false })
        // THEN the difference is logged and on record, and it went on
        const difference = { expected: [colour, fabric], found: [fabric] }
        expect(world.warnings).toMatchObject([{ details: { run_id: runId, ...difference } }])
        expect((await of(sessionId, 'run.misaligned')).map((rune) => rune.payload)).toEqual([difference])
        await world.sw.sessions.resume(sessionId)
        await world.sw.idle()
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  for (const [who, answerAs] of [
    ['a reply', (sw, { interaction_id }) => sw.inbox.reply(interaction_id, { reply: answer })],
    ['a refusal', (sw, { interaction_id }) => sw.inbox.reply(interaction_id, { reply: { action: 'reject' } })],
    ['resume', (sw, { execution_id }) => sw.executions.resume(execution_id, { reply: answer })],
  ] as const satisfies readonly (readonly [string, AnswerAs])[])
    play(
      `F-10 answers: ${who} to a contract that was cancelled is refused, and nothing runs`,
      on(
        store,
        () => talkingModel([form('Size?'), say('Done.')], { holds: () => false }),
        async ({ world, run, snapshots, runes, of, status, question }, { requests }) => {
          // GIVEN a contract that is called off, and whose question is still open
          const { sessionId, runId } = await run()
          const { interaction_id } = await question()
          const [suspended] = (await of(sessionId, 'contract.moved')).slice(-1)
          await record(world.sw, sessionId, calledOff(suspended, world.hand.clock.now()))
          await world.restart()
          const [contract] = await snapshots(sessionId)
          const before = [written(await runes(sessionId)), requests.length]

          // WHEN it is answered
          const answered = answerAs(world.sw, { interaction_id, execution_id: contract?.execution_id ?? '' })

          // THEN that is refused, nothing is recorded and nothing runs
          await expect(answered).rejects.toMatchObject({
            code: 'transition_refused',
            details: { machine: 'contract', from: 'cancelled', on: 'resume', refusal: 'terminal' },
          })
          await world.sw.idle()
          expect([written(await runes(sessionId)), requests.length]).toEqual(before)
          expect(await status(runId)).toBe('waiting_user')
        },
      ),
    )

  play(
    'F-10 answers: a reply takes the snapshot and checks the alignment, as resume does',
    on(
      store,
      () => ({
        script: [together(form('Size?'), form('Colour?')), say('Done.')],
        warnings: ['the number of waiting contracts is not the expected one'],
      }),
      async ({ world, run, of, inbox, snapshots }) => {
        const { sessionId } = await run()
        const [first, second] = (await snapshots(sessionId)).map((s) => s.execution_id)
        const { interaction_id } = (await inbox())[0] ?? { interaction_id: '' }
        const given = { reply: answer, expectedWaiting: [first ?? ''] }
        const replied = await world.sw.inbox.reply(interaction_id, given)
        expect(replied).toMatchObject({
          isAligned: false,
          snapshot: { execution_id: first, current_status: 'waiting', is_resumable: true },
        })
        await world.sw.idle()
        const misaligned = (await of(sessionId, 'run.misaligned')).map((rune) => rune.payload)
        expect(misaligned).toEqual([{ expected: [first], found: [first, second] }])
      },
    ),
  )

  play(
    'F-10 answers: a deadline does not resume a contract that was cancelled',
    on(
      store,
      () => ({
        ...talkingModel([form('Size?'), say('Done.')], { holds: () => false }),
        warnings: ['a deadline passed for a contract that does not wait'],
      }),
      async ({ world, run, runes, of, status }, { requests }) => {
        const { sessionId, runId } = await run({ interactiveRequireUserReply: false })
        const [suspended] = (await of(sessionId, 'contract.moved')).slice(-1)
        await record(world.sw, sessionId, calledOff(suspended, world.hand.clock.now()))
        await world.restart()
        const before = [written(await runes(sessionId)), requests.length]
        await world.hand.advance(7 * 86_400_000)
        await world.sw.idle()
        expect([written(await runes(sessionId)), requests.length]).toEqual(before)
        expect(await status(runId)).toBe('waiting_user')
      },
    ),
  )

  play(
    'resume: an approval and a settlement are answered through their contract',
    on(
      store,
      () => {
        const pay = heldTool({ name: 'pay', irreversible: true, timeoutMs: 1_000 })
        return { pay, tools: [refundTool({ approval: 'always' }), pay], script: [refund, call('pay'), say('Done.')] }
      },
      async ({ world, run, snapshots, status, question }, { pay }) => {
        const { sessionId, runId } = await run()
        const [refunding] = await snapshots(sessionId)
        const { digest } = await world.sw.inbox.get((await question()).interaction_id)
        await world.sw.executions.resume(refunding?.execution_id ?? '', {
          reply: { decision: 'approve', digest },
          repliedBy: 'ada',
        })
        await pay.hasBegun()
        await world.hand.advance(1_000)
        await world.sw.idle()
        const [, paying] = await snapshots(sessionId)
        const unfit = world.sw.executions.resume(paying?.execution_id ?? '', { reply: { decision: 'approve' } })
        await expect(unfit).rejects.toMatchObject({ code: 'reply_unfit' })
        await world.sw.executions.resume(paying?.execution_id ?? '', { reply: { outcome: 'happened' } })
        await world.sw.idle()
        expect((await snapshots(sessionId)).map((s) => s.current_status)).toEqual(['completed', 'completed'])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'resuming: of two concurrent resumes of a contract one is used, and the other names the winner',
    on(
      store,
      () => ({ script: [form('Size?'), say('Done.')] }),
      async ({ world, run, snapshots, of }) => {
        const { sessionId } = await run()
        const [waiting] = await snapshots(sessionId)
        // No worker takes the run while both ask: the contract waits for as long as they look at it.
        await world.sw.sessions.pause(sessionId)
        const resume = (replied_by: string) =>
          world.sw.executions.resume(waiting?.execution_id ?? '', { reply: answer, repliedBy: replied_by }).then(
            () => 'accepted',
            (fault) => fault,
          )
        const outcomes = await Promise.all([resume('ada'), resume('bob')])
        await world.sw.sessions.resume(sessionId)
        await world.sw.idle()
        expect(outcomes).toContain('accepted')
        expect(outcomes).toContainEqual(expect.objectContaining({ code: 'interaction_closed' }))
        expect(await of(sessionId, 'interaction.answered')).toHaveLength(1)
      },
    ),
  )
}
