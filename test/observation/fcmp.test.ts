import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isoTime } from '../../src/kernel/instant.ts'
import { type RunStatus, runMachine } from '../../src/machines/run.ts'
import { createFcmp, fcmpStream } from '../../src/observation/fcmp.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { type FcmpEvent, fcmpEvent } from '../../src/wire/fcmp.ts'
import { anyDice, randomRun } from '../support/random-run.ts'
import { type Call, createStory, type Story } from '../support/runes.ts'

const runs = process.env.STATEWRIGHT_PROOF === '1' ? 20_000 : 500

function waiting() {
  const story = createStory()
  story.begin()
  story.submit('Refund order 42')
  story.take()
  const [refund, form] = story.calls([
    { name: 'payments.refund', irreversible: true },
    { kind: 'step', name: 'ask_human' },
  ]) as [Call, Call]
  story.park({ row: 'approval_asked', call: refund }, { row: 'step_asked', call: form })
  return { story, refund, form }
}

const stream = (story: Story) => fcmpStream(story.runes, 'run_1')

function shape(event: FcmpEvent): string {
  if (event.type !== 'conversation.state.changed') return event.type
  return `${event.data.from} → ${event.data.to} (${event.data.trigger})`
}

const expected = (story: Story) => ({ runId: 'run_1', status: story.stateOf('run_1') as RunStatus })

describe('FCMP: stream of a run', () => {
  test('a reply: the questions stand right before waiting_user, the reply right before queued', () => {
    const { story, refund } = waiting()
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    expect(stream(story).map(shape)).toEqual([
      'queued → running (turn.started)',
      'user.input.required',
      'user.input.required',
      'running → waiting_user (turn.needs_input)',
      'interaction.reply.accepted',
      'waiting_user → queued (interaction.reply.accepted)',
    ])
    expect(stream(story)[1]).toEqual({
      protocol_version: 'fcmp/1.0',
      run_id: 'run_1',
      seq: 2,
      ts: new Date(story.now() - 10).toISOString(),
      engine: 'a',
      type: 'user.input.required',
      data: { kind: 'confirm', prompt: 'What about payments.refund?', interaction_id: 'int_1' },
      meta: { attempt: 1 },
    })
    expect(stream(story)[3]?.data).toMatchObject({ pending_interaction_id: 'int_1' })
    expect(stream(story)[4]?.data).toEqual({
      interaction_id: 'int_1',
      resolution_mode: 'user_reply',
      accepted_at: new Date(story.now()).toISOString(),
    })
    expect(checkFcmp(stream(story), expected(story))).toEqual([])
  })

  test('a deadline: its event names the effect of silence', () => {
    const { story, form } = waiting()
    story.append(
      { row: 'expired', call: form, says: { 'interaction.expire': { effect: 'use_default' } } },
      { row: 'lapsed' },
    )
    expect(stream(story).slice(-2).map(shape)).toEqual([
      'interaction.auto_decide.timeout',
      'waiting_user → queued (interaction.auto_decide.timeout)',
    ])
    expect(stream(story).at(-2)?.data).toMatchObject({ interaction_id: 'int_2', policy: 'use_default' })
  })

  test('when the run waits again, only the open questions are asked, and the attempt has gone up', () => {
    const { story, refund } = waiting()
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    story.take()
    story.append({ row: 'denied', call: refund }, { row: 'parked' })
    expect(stream(story).slice(-2)).toMatchObject([
      { type: 'user.input.required', data: { interaction_id: 'int_2' }, meta: { attempt: 2 } },
      { data: { to: 'waiting_user', pending_interaction_id: 'int_2' }, meta: { attempt: 2 } },
    ])
  })

  test('after a restart the same questions are asked again, before a change that leads back', () => {
    const { story } = waiting()
    story.append({ row: 'kept_waiting' })
    expect(stream(story).slice(-3).map(shape)).toEqual([
      'user.input.required',
      'user.input.required',
      'waiting_user → waiting_user (restart.preserve_waiting)',
    ])
  })

  test('a success has its final message first, a failure has its reason, and each ends once', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.take()
    story.append({ row: 'succeeded', says: { 'turn.response_done': { final_output: 'Done.' } } })
    expect(stream(story).slice(1)).toMatchObject([
      { type: 'assistant.message.final', data: { message_id: 'trn_1', text: 'Done.' } },
      { data: { from: 'running', to: 'succeeded', terminal: { status: 'succeeded' } } },
    ])

    const { story: other, refund, form } = waiting()
    const says = { 'run.restart.reconcile_failed': { error_code: 'SESSION_RESUME_FAILED', message: 'No agent.' } }
    other.append(
      { row: 'cancelled_waiting', call: refund },
      { row: 'step_cancelled', call: form },
      { row: 'unrecoverable_in_tools', says },
    )
    expect(stream(other).at(-1)?.data).toMatchObject({
      from: 'waiting_user',
      to: 'failed',
      terminal: {
        status: 'failed',
        error: { category: 'recovery', code: 'SESSION_RESUME_FAILED', message: 'No agent.' },
      },
    })
  })

  test('a run that is cancelled before any worker took it is in its first attempt', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.append({ row: 'canceled_at_rest' })
    expect(stream(story)).toMatchObject([{ seq: 1, data: { from: 'queued', to: 'canceled' }, meta: { attempt: 1 } }])
  })

  test('a turn error that the run survives is a diagnostic.warning', () => {
    const { story } = waiting()
    story.say('run.misaligned', { expected: ['exe_1'], found: [] })
    expect(stream(story).at(-1)).toMatchObject({
      type: 'diagnostic.warning',
      data: { code: 'resume_misaligned', detail: 'Expected: exe_1. Found: none.' },
    })
  })

  test('no event follows the end of the run, even if more is recorded', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.append({ row: 'canceled_at_rest' })
    const ended = stream(story)
    story.say('run.misaligned', { expected: [], found: ['exe_1'] })
    expect(stream(story)).toEqual(ended)
  })

  test('a clock that is set back does not turn back the time of the stream', () => {
    const { story, refund } = waiting()
    const { ts } = stream(story).at(-1) ?? {}
    story.later(-60_000)
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    expect(stream(story).slice(-2)).toMatchObject([
      { ts, data: { accepted_at: ts } },
      { ts, data: { updated_at: ts } },
    ])
    expect(checkFcmp(stream(story), expected(story))).toEqual([])
  })

  test('a run that is not public has its moves, without content and without its questions', () => {
    const { story, refund } = waiting()
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    const hidden = ({ runes }: Story) => runes.map((rune) => ({ ...rune, visibility: 'internal' as const }))
    const events = fcmpStream(hidden(story), 'run_1')
    expect(events.map(shape)).toEqual([
      'queued → running (turn.started)',
      'user.input.required',
      'running → waiting_user (turn.needs_input)',
      'waiting_user → queued (interaction.reply.accepted)',
    ])
    expect(events[1]?.data).toEqual({ kind: 'open_text', prompt: '(not public)' })
    expect(JSON.stringify(events)).not.toMatch(/payments|int_/)
    expect(checkFcmp(events, expected(story))).toEqual([])

    const other = createStory()
    other.begin()
    other.submit()
    other.take()
    other.append({ row: 'succeeded', says: { 'turn.response_done': { final_output: 'Between us.' } } })
    expect(JSON.stringify(stream(other))).toContain('Between us.')
    expect(fcmpStream(hidden(other), 'run_1').map(shape)).toEqual(stream(other).map(shape))
    expect(JSON.stringify(fcmpStream(hidden(other), 'run_1'))).not.toContain('Between us.')
  })

  test('two runs in one session have a stream each', () => {
    const { story } = waiting()
    const first = stream(story)
    story.submit('something else')
    expect(stream(story)).toEqual(first)
    expect(fcmpStream(story.runes, 'run_2')).toEqual([])
  })

  test('F-23 FCMP: in every random run, a text that is recorded as empty leaves no empty text', () => {
    const texts = ['agent', 'prompt', 'reason', 'final_output', 'error_type', 'error_code', 'message']
    const emptied = (payload: object) =>
      Object.fromEntries(Object.entries(payload).map(([name, value]) => [name, texts.includes(name) ? '' : value]))
    const seen = new Set<string>()
    fc.assert(
      fc.property(anyDice, (dice) => {
        const story = randomRun(dice)
        const runes = story.runes.map((rune) => ({ ...rune, payload: emptied(rune.payload) }) as typeof rune)
        const events = fcmpStream(runes, 'run_1')
        expect(checkFcmp(events, expected(story))).toEqual([])
        for (const { type } of events) seen.add(type)
      }),
      { numRuns: runs / 5, seed: 7 },
    )
    expect([...seen].toSorted()).toEqual(fcmpEvent.options.map(({ shape }) => shape.type.value).toSorted())
  })

  test('in every random run, the stream passes the check, and it is the same rune by rune', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(anyDice, (dice) => {
        const story = randomRun(dice)
        const events = stream(story)
        expect(checkFcmp(events, expected(story))).toEqual([])
        const fcmp = createFcmp('run_1')
        expect(story.runes.flatMap((rune) => [...fcmp.fold(rune)])).toEqual(events)
        for (const event of events) seen.add(shape(event))
      }),
      { numRuns: runs, seed: 7 },
    )
    const recorded = runMachine.transitions.filter((t) => t.rune === 'run.moved')
    const changes = recorded.map((t) => `${t.from} → ${t.to} (${t.on})`)
    expect([...seen]).toEqual(expect.arrayContaining(changes))
  })
})

test('ISO times: they equal those of the platform on every day of a calendar cycle of 400 years', () => {
  const day = 86_400_000
  const wrong: string[] = []
  for (let i = 0; i < 146_097; i++) {
    const ms = (i - 40_000) * day + ((i * 7_919) % day)
    if (isoTime(ms) !== new Date(ms).toISOString()) wrong.push(isoTime(ms))
  }
  expect(wrong).toEqual([])
  for (const ms of [0, -1, day - 1, Date.parse('0000-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')])
    expect(isoTime(ms)).toBe(new Date(ms).toISOString())
})
