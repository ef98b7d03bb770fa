import { expect, test } from 'vitest'
import { createDeltaGate } from '../../src/observation/delta-gate.ts'
import type { Rune } from '../../src/runes/rune.ts'

const delta = (offset: number, round = 0, turn_id = 'turn_1') => ({ turn_id, round, channel: 'text', offset })
const rune = (kind: string, payload: object) => ({ kind, turn_id: 'turn_1', payload }) as Rune

test('delta gate: text whose rune the reader has does not pass', () => {
  const { note, passes } = createDeltaGate()
  expect(passes(delta(0))).toBe(true)
  note(rune('turn.assistant_delta', { content: 'abc', channel: 'text', round: 0, offset: 2 }))
  expect([passes(delta(4)), passes(delta(5)), passes({ ...delta(0), channel: 'reasoning' })]).toEqual([
    false,
    true,
    true,
  ])
})

test('delta gate: an older rune that is noted later opens nothing again', () => {
  const { note, passes } = createDeltaGate()
  for (const offset of [5, 2]) note(rune('turn.assistant_delta', { content: 'abc', channel: 'text', round: 0, offset }))
  expect([passes(delta(7)), passes(delta(8))]).toEqual([false, true])
  for (const round of [2, 1]) note(rune('turn.tool_calls_received', { call_ids: [], round, text: '' }))
  expect([passes(delta(9, 1)), passes(delta(0, 2))]).toEqual([false, true])
})

test('delta gate: after the calls of a round, only text of the next one passes', () => {
  const { note, passes } = createDeltaGate()
  note(rune('turn.tool_calls_received', { call_ids: [], round: 1, text: 'abc' }))
  expect([passes(delta(9, 0)), passes(delta(0, 1))]).toEqual([false, true])
})

for (const kind of ['turn.completed', 'turn.interrupted', 'turn.error'])
  test(`delta gate: after ${kind}, no text of that turn passes`, () => {
    const { note, passes } = createDeltaGate()
    note(rune(kind, {}))
    expect([passes(delta(9, 3)), passes(delta(0, 0, 'turn_2'))]).toEqual([false, true])
  })
