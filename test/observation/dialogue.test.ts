import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { consequenceView, contractHistories, renderConsequence } from '../../src/observation/contract.ts'
import { dialogueOf, foldDialogue, newDialogue } from '../../src/observation/dialogue.ts'
import type { ConsequenceView, Message } from '../../src/wire/dialogue.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { anyDice, randomRun } from '../support/random-run.ts'
import { type Call, type CallSpec, createStory, type Story } from '../support/runes.ts'

const runs = process.env.STATEWRIGHT_PROOF === '1' ? 20_000 : 500

function talk(...specs: readonly CallSpec[]): { story: Story; calls: readonly [Call, ...Call[]] } {
  const story = createStory()
  story.begin()
  story.submit('Refund order 42')
  story.take('Refund order 42')
  const calls = story.calls(specs, 'One moment.')
  return { story, calls: calls as unknown as readonly [Call, ...Call[]] }
}

const messages = (story: Story) => dialogueOf(story.runes, 'agt_1')
const toolMessages = (story: Story) => messages(story).filter((m) => m.role === 'tool')

const refund: CallSpec = { name: 'payments.refund', irreversible: true, arguments: { order: 42 } }

describe('dialogue: messages', () => {
  test('input, calls, consequences and the final answer, in order', () => {
    const { story, calls } = talk({ name: 'mail.draft', arguments: { to: 'ann' } })
    story.append({ row: 'started', call: calls[0] })
    story.append({ row: 'succeeded', call: calls[0] }, { row: 'continued' })
    story.append({ row: 'succeeded', says: { 'turn.response_done': { final_output: 'It is written.' } } })
    expect(messages(story)).toEqual([
      { role: 'user', content: 'Refund order 42' },
      {
        role: 'assistant',
        text: 'One moment.',
        calls: [{ call_id: 'cal_1', name: 'mail.draft', arguments: { to: 'ann' } }],
      },
      {
        role: 'tool',
        call_id: 'cal_1',
        consequence: expect.objectContaining({ consequence_label: 'SUCCESS', result: 'done' }),
      },
      { role: 'assistant', text: 'It is written.', calls: [] },
    ])
  })

  test('a turn without input adds no user message, and an empty partial answer adds none', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.take('hello')
    story.append({ row: 'retried', says: { 'turn.start_turn': { input: null } } })
    expect(messages(story)).toEqual([{ role: 'user', content: 'hello' }])
  })

  test('text before an error or a steer is kept and marked as partial', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.take('hello')
    story.append({
      row: 'retried',
      says: { 'turn.stream_error': { partial_output: 'I' }, 'turn.start_turn': { input: null } },
    })
    story.append({
      row: 'steered',
      says: { 'turn.steer': { partial_output: 'I am' }, 'turn.start_turn': { input: 'shorter' } },
    })
    expect(messages(story).slice(1)).toEqual([
      { role: 'assistant', text: 'I', calls: [], partial: true },
      { role: 'assistant', text: 'I am', calls: [], partial: true },
      { role: 'user', content: 'shorter' },
    ])
  })

  test('a step for a person is a call like any other, answered when its contract is over', () => {
    const { story, calls } = talk({ kind: 'step', name: 'ask_human', arguments: { title: 'Which?' } })
    story.park({ row: 'step_asked', call: calls[0] })
    expect(messages(story).at(-1)).toMatchObject({
      calls: [{ call_id: 'cal_1', name: 'ask_human', arguments: { title: 'Which?' } }],
    })
    story.append({ row: 'answered', call: calls[0] }, { row: 'replied' })
    story.take()
    story.append({ row: 'step_taken', call: calls[0], says: { 'contract.succeed': { result: { size: 'L' } } } })
    expect(messages(story).at(-1)).toMatchObject({
      role: 'tool',
      call_id: 'cal_1',
      consequence: {
        action_type: 'ecs_request',
        consequence_label: 'SUCCESS',
        result: { size: 'L' },
        was_suspended: true,
        decided_by: null,
      },
    })
  })

  test('a duplicate that was refused has no contract and is told as a rejection, with the reason', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.take()
    const reason = 'Already completed as exe_9.'
    const [call] = story.calls([{ ...refund, kind: 'duplicate' }])
    const told = story.runes.map((rune) =>
      rune.kind === 'tool.denied' ? { ...rune, payload: { call_id: 'cal_1', reason } } : rune,
    )
    expect(dialogueOf(told, 'agt_1').at(-1)).toEqual({
      role: 'tool',
      call_id: call?.call_id,
      consequence: {
        execution_id: '',
        action_type: 'tool_call',
        action_summary: 'payments.refund',
        consequence_label: 'REJECTED',
        result: null,
        error_message: reason,
        has_side_effects: false,
        was_suspended: false,
        decided_by: 'policy',
        is_still_pending: false,
        total_duration_ms: 0,
      },
    })
  })

  test('an unknown outcome gets a message when its run ends, which the settled outcome replaces', () => {
    const { story, calls } = talk(refund, { name: 'mail.draft' })
    story.append({ row: 'started', call: calls[0] }, { row: 'started', call: calls[1] as Call })
    story.append({ row: 'succeeded', call: calls[1] as Call })
    expect(toolMessages(story)).toHaveLength(1)
    story.append({ row: 'unknown_left', call: calls[0] }, { row: 'failed_in_tools' })
    expect(messages(story).at(-1)).toMatchObject({ call_id: 'cal_1', consequence: { consequence_label: 'UNKNOWN' } })
    const before = messages(story).length
    story.append({ row: 'settled_happened_late', call: calls[0] })
    expect(messages(story)).toHaveLength(before)
    expect(messages(story).at(-1)).toMatchObject({
      call_id: 'cal_1',
      consequence: { consequence_label: 'SUCCESS', has_side_effects: true },
    })
  })

  test('while a person is asked whether it happened, the call has no message', () => {
    const { story, calls } = talk(refund)
    story.append({ row: 'started', call: calls[0] })
    story.park({ row: 'unknown_asked', call: calls[0] })
    expect(toolMessages(story)).toEqual([])
  })

  test('each agent has a dialogue of its own', () => {
    const { story } = talk(refund)
    expect(dialogueOf(story.runes, 'agt_2')).toEqual([])
  })

  test('in every random run, each call of an answer gets exactly one message, which says how its contract ended', () => {
    const labels = new Set<string>()
    fc.assert(
      fc.property(anyDice, (dice) => {
        const story = randomRun(dice)
        expect(auditRunes(story.runes)).toEqual([])
        const said = messages(story)
        const called = said.flatMap((m) => (m.role === 'assistant' ? m.calls.map((c) => c.call_id) : []))
        const told = said.flatMap((m) => (m.role === 'tool' ? [m.call_id] : []))
        expect(new Set(told).size).toBe(told.length)
        expect(called).toEqual(expect.arrayContaining(told))
        if (!['queued', 'running', 'waiting_user'].includes(story.stateOf('run_1') ?? ''))
          expect(told.toSorted()).toEqual(called.toSorted())

        const histories = contractHistories(story.runes)
        for (const { consequence } of said.filter((m) => m.role === 'tool')) {
          labels.add(consequence.consequence_label)
          const history = histories.get(consequence.execution_id)
          if (history !== undefined) expect(consequence).toEqual(consequenceView(history))
        }
        expectWellOrdered(said)
      }),
      { numRuns: runs, seed: 7 },
    )
    expect([...labels].toSorted()).toEqual(['CANCELLED', 'FAILED', 'REJECTED', 'SUCCESS', 'UNKNOWN'])
  })

  test('folding a rune reads no more of the dialogue after 1,000 steps than after the first', () => {
    const story = createStory()
    story.begin()
    story.submit()
    story.take()
    for (let i = 0; i < 1_000; i++) {
      const [call] = story.calls([{}]) as [Call]
      story.append({ row: 'started', call })
      story.append({ row: 'succeeded', call }, { row: 'continued' })
    }
    let looks = 0
    const counted = new Proxy<Message[]>([], {
      get: (target, property) => {
        looks += 1
        return Reflect.get(target, property)
      },
    })
    const dialogue = { ...newDialogue(), messages: counted }
    for (const rune of story.runes) {
      looks = 0
      foldDialogue(dialogue, rune)
      expect(looks).toBeLessThan(5)
      expect(dialogue.open.size).toBeLessThan(2)
    }
    expect(dialogue.messages).toHaveLength(2_001)
  })
})

/** A message about a call comes after the answer that made it. */
function expectWellOrdered(said: readonly Message[]) {
  const made = new Set<string>()
  for (const message of said) {
    if (message.role === 'assistant') for (const call of message.calls) made.add(call.call_id)
    if (message.role === 'tool') expect(made).toContain(message.call_id)
  }
}

describe('dialogue: prompt line', () => {
  const view: ConsequenceView = {
    execution_id: 'exe_1',
    action_type: 'tool_call',
    action_summary: 'payments.refund',
    consequence_label: 'SUCCESS',
    result: { refunded: 4200 },
    error_message: null,
    has_side_effects: true,
    was_suspended: true,
    decided_by: 'human',
    is_still_pending: false,
    total_duration_ms: 10,
  }

  test.each([
    [{}, '[SUCCESS IRREVERSIBLE (human-confirmed)] payments.refund: {"refunded":4200}'],
    [{ decided_by: 'timer', result: 'M' }, '[SUCCESS IRREVERSIBLE (default after timeout)] payments.refund: M'],
    [
      { decided_by: 'policy', consequence_label: 'REJECTED', has_side_effects: false, result: 'no' },
      '[REJECTED (suspended)] payments.refund: no',
    ],
    [
      { decided_by: 'policy', action_type: 'ecs_request', was_suspended: false, has_side_effects: false, result: 'M' },
      '[SUCCESS (default, no one was asked)] payments.refund: M',
    ],
    [{ has_side_effects: false, was_suspended: false, result: 'ok' }, '[SUCCESS] payments.refund: ok'],
    [
      {
        consequence_label: 'FAILED',
        has_side_effects: false,
        was_suspended: false,
        result: null,
        error_message: 'no such order',
      },
      '[FAILED] payments.refund: no such order',
    ],
    [
      { consequence_label: 'CANCELLED', has_side_effects: false, result: null, error_message: 'no answer came' },
      '[CANCELLED (suspended)] payments.refund: no answer came',
    ],
    [{ consequence_label: 'WAITING', has_side_effects: false, result: null }, '[WAITING (suspended)] payments.refund'],
    [
      { consequence_label: 'UNKNOWN', has_side_effects: false, result: null },
      '[UNKNOWN (suspended)] payments.refund: it is unknown whether it happened; do not repeat it',
    ],
  ] as const)('%o', (change, line) => {
    expect(renderConsequence({ ...view, ...change })).toBe(line)
  })
})
