import { expect } from 'vitest'
import { z } from 'zod'
import type { Model, ModelEvent, ModelRequest } from '../../src/runtime/model.ts'
import { ask, breakOff, call, type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { createGate, holding } from './gate.ts'
import { until } from './paying.ts'
import { counting, heldTool, on, play, refundTool } from './stage.ts'
import type { Store } from './stores.ts'
import { talkingModel } from './talking.ts'

const anything = z.looseObject({})

/** Specification 002, TurnEngine: its runes, and how it is stopped. */
export function turnPlays(store: Store) {
  scenario(
    'TU-02',
    'Each row of the table is written with its payload, once, on that move',
    on(
      store,
      () => {
        const look = counting({ name: 'look', input: anything, readOnly: true, run: () => 'seen' })
        const script = [
          { ...call('look'), text: 'Let me see.', usage: { inputTokens: 11, outputTokens: 7 } },
          { ...say('Well done.'), usage: { inputTokens: 20, outputTokens: 3 } },
          say('Never heard.'),
        ]
        return { ...talkingModel(script), tools: [look] }
      },
      async ({ world, submit, of, runes }, { isAbout, goOn, model: _ }) => {
        // GIVEN a turn with a round of calls, whose text comes in pieces
        const run = await submit({ input: 'How is it?' })
        const { sessionId } = run
        await isAbout(1)
        goOn(1)
        await isAbout(2)
        await world.hand.advance(250)
        await world.until(sessionId, (rune) => rune.kind === 'turn.assistant_delta')
        for (const n of [2, 3, 4]) goOn(n)
        await run.result()
        // AND a turn that is interrupted in the middle of a word
        const second = await submit({ sessionId, input: 'And now?' })
        await isAbout(5)
        goOn(5)
        await isAbout(6)
        await second.interrupt('Never mind.')
        await second.result()

        // THEN the rows of the table are there, in order, each with its payload
        const all = (await runes(sessionId)).filter((rune) => rune.kind.startsWith('turn.'))
        const [first, other] = (await of(sessionId, 'turn.started')).map((rune) => rune.payload.turn_id)
        const agent_id = all[0]?.agent_id
        const [made] = await of(sessionId, 'tool.call')
        expect(all.map(({ kind, from, to, payload }) => [kind, from, to, payload])).toMatchObject([
          ['turn.started', 'idle', 'streaming', { turn_id: first, agent_id, input: 'How is it?' }],
          ['turn.assistant_delta', undefined, undefined, { content: 'Let me', channel: 'text', round: 0, offset: 0 }],
          [
            'turn.tool_calls_received',
            'streaming',
            'tool_executing',
            { call_ids: [made?.call_id], round: 1, text: 'Let me see.', usage: { input_tokens: 11, output_tokens: 7 } },
          ],
          [
            'turn.tools_finished',
            'tool_executing',
            'streaming',
            { results: [{ call_id: made?.call_id, label: 'SUCCESS', summary: 'look' }] },
          ],
          [
            'turn.completed',
            'streaming',
            'completed',
            { final_output: 'Well done.', usage: { input_tokens: 20, output_tokens: 3 }, round: 1, finish: 'stop' },
          ],
          ['turn.started', 'idle', 'streaming', { turn_id: other, agent_id, input: 'And now?' }],
          ['turn.interrupted', 'streaming', 'interrupted', { reason: 'Never mind.', partial_output: 'Never ' }],
        ])
        // AND the end of a turn leaves its agent idle without a rune of its own
        expect((await runes(sessionId)).some((rune) => rune.trigger === 'turn_finalized')).toBe(false)
      },
    ),
  )

  scenario(
    'TU-02',
    'A stream that breaks is a turn.error, kept with what was said, and a new turn tries again',
    on(
      store,
      () => {
        const requests: ModelRequest[] = []
        let times = 0
        const model = scriptedModel((request) => {
          requests.push(structuredClone(request))
          return ++times < 3 ? breakOff('Connection reset.', { errorType: 'network', text: 'I thi' }) : say('Done.')
        })
        return { requests, model }
      },
      async ({ world, submit, of }, { requests }) => {
        // GIVEN a model whose stream breaks twice
        const run = await submit()
        await world.until(run.sessionId, (rune) => rune.kind === 'turn.error')
        await until(
          () => world.hand.advance(1_000),
          async () => (await of(run.sessionId, 'turn.completed')).length === 1,
        )
        expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'Done.' })
        // THEN each break is on record, and each try is a turn of its own without new input
        expect((await of(run.sessionId, 'turn.error')).map((rune) => rune.payload)).toMatchObject(
          Array(2).fill({
            error_type: 'network',
            message: 'Connection reset.',
            retryable: true,
            partial_output: 'I thi',
          }),
        )
        expect((await of(run.sessionId, 'turn.started')).map((rune) => rune.payload.input)).toEqual(['Go.', null, null])
        // AND what was said before the break is not lost
        expect(requests.at(-1)?.messages).toMatchObject([
          { role: 'user', content: 'Go.' },
          { role: 'assistant', text: 'I thi', partial: true },
          { role: 'assistant', text: 'I thi', partial: true },
        ])
      },
    ),
  )

  scenario(
    'TU-02',
    'A stream that breaks for good fails the run',
    on(
      store,
      () => ({ script: [breakOff('Your key is wrong.', { errorType: 'auth', retryable: false })] }),
      async ({ run, of }) => {
        const ended = await run()
        expect(await ended.result()).toMatchObject({
          status: 'failed',
          errorCode: 'AUTH',
          message: 'Your key is wrong.',
        })
        const [error] = await of(ended.sessionId, 'turn.error')
        expect(error).toMatchObject({
          from: 'streaming',
          to: 'error',
          payload: { error_type: 'auth', retryable: false },
        })
      },
    ),
  )

  play(
    'turns: reasoning and text are recorded to the last delta, however the turn ends',
    on(
      store,
      () => {
        const thought = (text: string): ModelEvent => ({ type: 'delta', channel: 'reasoning', text })
        const model: Model = {
          id: 'thinking',
          async *stream({ messages }) {
            yield thought('Let me ')
            yield thought('see.')
            if (messages.length > 1) yield { type: 'delta', channel: 'text', text: 'Done.' }
            else yield { type: 'tool_call', name: 'look', arguments: {} }
            yield thought(' That was it.')
            yield { type: 'done', finish: 'stop' }
          },
        }
        return { model, tools: [counting({ name: 'look', input: anything, readOnly: true, run: () => 'seen' })] }
      },
      async ({ run, of }) => {
        const { sessionId } = await run()
        const deltas = (await of(sessionId, 'turn.assistant_delta')).map((rune) => rune.payload)
        expect(deltas).toEqual([
          { content: 'Let me see. That was it.', channel: 'reasoning', round: 0, offset: 0 },
          { content: 'Let me see.', channel: 'reasoning', round: 1, offset: 0 },
          { content: 'Done.', channel: 'text', round: 1, offset: 0 },
          { content: ' That was it.', channel: 'reasoning', round: 1, offset: 11 },
        ])
        expect((await of(sessionId, 'turn.completed')).map((rune) => rune.payload.final_output)).toEqual(['Done.'])
      },
    ),
  )

  scenario(
    'TU-03',
    'A steer stops the stream at a safe boundary; what was said is kept; the input opens the next turn',
    on(
      store,
      () => talkingModel([say('Blue is best.')]),
      async ({ submit, of, status }, { isAbout, goOn, told }) => {
        // GIVEN a model in the middle of a sentence
        const run = await submit({ input: 'A colour?' })
        await isAbout(1)
        goOn(1)
        await isAbout(2)
        // WHEN new input comes
        expect(await run.steer('Not blue.')).toEqual({ runId: run.runId, status: 'running', accepted: true })
        await isAbout(3)
        // THEN the turn ended with what it had said, and the next began with the input, in the same run
        expect((await of(run.sessionId, 'turn.interrupted')).map((rune) => [rune.trigger, rune.payload])).toMatchObject(
          [['steer', { reason: 'steered', partial_output: 'Blue is' }]],
        )
        expect(told()).toEqual(['user A colour?', 'said Blue is', 'user Not blue.'])
        goOn(3)
        goOn(4)
        expect(await run.result()).toMatchObject({ status: 'succeeded' })
        expect(await status(run.runId)).toBe('succeeded')
      },
    ),
  )

  scenario(
    'TU-03',
    'A steer that comes when the answer is complete but not recorded yet loses nothing of it',
    on(
      store,
      () => ({ ...createGate(), ...talkingModel([say('Blue is best.')], { holds: () => false }) }),
      async ({ world, submit, of }, { stop, refused, told }) => {
        // GIVEN an answer on its way into the record
        const ending = stop(holding('turn.succeeded'))
        const run = await submit({ input: 'A colour?' })
        await ending.reached
        // WHEN new input is recorded before it
        await run.steer('Not blue.')
        ending.open()
        await world.sw.idle()
        // THEN what was said is kept, and the input opens the next turn
        expect(refused).toEqual(['stale_write'])
        expect(told()).toEqual(['user A colour?', 'said Blue is best.', 'user Not blue.'])
        expect((await of(run.sessionId, 'turn.interrupted'))[0]?.payload.partial_output).toBe('Blue is best.')
        expect(await run.result()).toMatchObject({ status: 'succeeded' })
      },
    ),
  )

  scenario(
    'TU-03',
    'A cancel that comes when the answer is complete but not recorded yet keeps it as partial output',
    on(
      store,
      () => ({ ...createGate(), script: [say('Blue is best.')] }),
      async ({ submit, of }, { stop, refused }) => {
        const ending = stop(holding('turn.succeeded'))
        const run = await submit()
        await ending.reached
        await run.cancel('Too late?')
        ending.open()
        expect(await run.result()).toMatchObject({ status: 'canceled', message: 'Too late?' })
        expect(refused).toEqual(['stale_write'])
        expect((await of(run.sessionId, 'turn.interrupted')).map((rune) => rune.payload.partial_output)).toEqual([
          'Blue is best.',
        ])
      },
    ),
  )

  scenario(
    'TU-03',
    'A steer while tools run is held until they are done',
    on(
      store,
      () => {
        const look = heldTool({ name: 'look' })
        return { look, ...talkingModel([call('look'), say('Red it is.')], { holds: () => false }), tools: [look] }
      },
      async ({ submit, of, runes }, { look, told }) => {
        // GIVEN a tool at work
        const run = await submit({ input: 'A colour?' })
        await look.hasBegun()
        // WHEN new input comes, twice
        await run.steer('Not blue.')
        await run.steer('Nor green.')
        expect(await of(run.sessionId, 'turn.interrupted')).toEqual([])
        look.begun[0]?.resolve('there is blue')
        await run.result()
        // THEN the tool came to its end, and each input opened a turn, in order
        const kinds = (await runes(run.sessionId)).map((rune) => rune.kind).filter((kind) => kind.startsWith('turn.'))
        expect(kinds).toEqual([
          'turn.started',
          'turn.tool_calls_received',
          'turn.tools_finished',
          'turn.interrupted',
          'turn.started',
          'turn.interrupted',
          'turn.started',
          'turn.completed',
        ])
        expect(told()).toEqual(['user A colour?', 'said ', 'SUCCESS', 'user Not blue.', 'user Nor green.'])
      },
    ),
  )

  scenario(
    'TU-03',
    'An interrupt lets what is under way come to its end; a cancel waits for no more than its grace',
    on(
      store,
      () => {
        const look = heldTool({ name: 'look' })
        return { look, tools: [look], script: [call('look'), say('?')] }
      },
      async ({ world, submit, of, status }, { look }) => {
        // GIVEN a tool at work, and an interrupt
        const first = await submit()
        await look.hasBegun()
        await first.interrupt('Stop when you can.')
        await world.hand.advance(60_000)
        expect(await status(first.runId)).toBe('running')
        look.begun[0]?.resolve('seen')
        expect(await first.result()).toMatchObject({ status: 'canceled', message: 'Stop when you can.' })
        // THEN its result is on record
        expect((await of(first.sessionId, 'tool.result')).map((rune) => rune.payload)).toMatchObject([
          { status: 'success', output: 'seen' },
        ])

        // GIVEN the same again, and a cancel after the interrupt
        const second = await submit()
        await look.hasBegun(2)
        await second.interrupt()
        await second.cancel('Now.')
        // THEN the tool is told to stop, and what it says after its grace is not heard
        await look.wasTold(2)
        await world.hand.advance(4_999)
        expect(await status(second.runId)).toBe('running')
        await world.hand.advance(1)
        expect(await second.result()).toMatchObject({ status: 'canceled', message: 'Now.' })
        look.begun[1]?.resolve('too late')
        await world.sw.idle()
        expect((await of(second.sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['cancelled'])
      },
    ),
  )

  play(
    'turns: a turn has at most the rounds that its agent allows',
    on(
      store,
      () => {
        const look = counting({ name: 'look', input: anything, readOnly: true, run: () => 'more' })
        const model = scriptedModel((_request, n) => call('look', { n }))
        return { look, model, tools: [look] }
      },
      async ({ run }, { look }) => {
        const ended = await run()
        expect(await ended.result()).toMatchObject({ status: 'failed', errorCode: 'ROUND_LIMIT' })
        expect(look.ran).toHaveLength(50)
      },
    ),
  )

  play(
    'memory: later turns see earlier actions and who decided them, also after a restart',
    on(
      store,
      () => {
        const script: Scripted[] = [
          call('payments.refund', { order: '42', cents: 500 }),
          ask({ title: 'Size?', fields: [{ name: 'size' }] }),
          say('Done.'),
          say('I remember.'),
        ]
        return { ...talkingModel(script, { holds: () => false }), tools: [refundTool()] }
      },
      async ({ world, run, question, reply }, { requests }) => {
        const { sessionId } = await run()
        expect(requests[0]?.memories).toEqual([])
        await reply((await question()).interaction_id, { action: 'reject', reason: 'No idea.' })
        await world.restart()
        await run({ sessionId, input: 'What did you do?' })
        expect(requests.at(-1)?.memories).toEqual([
          'payments.refund: completed, irreversible; {"refund":"r-42"}',
          'Size?: rejected (human-confirmed); No idea.',
        ])
        // AND another session knows nothing of it
        const before = requests.length
        await run()
        expect(requests[before]?.memories).toEqual([])
      },
    ),
  )
}
