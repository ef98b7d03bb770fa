import { expect, test } from 'vitest'
import type { Json } from '../../src/kernel/json.ts'
import { erasedPayload, isErased } from '../../src/runes/erasure.ts'
import { type Kind, kinds, payloadProblem } from '../../src/runes/kinds.ts'
import { upcast } from '../../src/runes/rune.ts'
import { payloads } from '../support/drafts.ts'

const all = Object.keys(kinds) as Kind[]

test.each(all)(
  'erased payload: an erased %s keeps the shape of its kind, and erasing it again changes nothing',
  (kind) => {
    const payload = payloads[kind] as Readonly<Record<string, Json>>
    expect(payloadProblem(kind, payload)).toBeUndefined()
    const left = erasedPayload(kind, payload)
    expect(payloadProblem(kind, left)).toBeUndefined()
    expect(erasedPayload(kind, left)).toEqual(left)
  },
)

test('erased payload: free text and free values are gone; the fields that a fold needs stay', () => {
  const opened = { ...payloads['contract.opened'], idempotency_key: 'k', action_detail: { to: 'ann' } }
  expect(erasedPayload('contract.opened', opened)).toEqual({
    action_type: 'tool_call',
    action_detail: {},
    action_summary: '[redacted]',
    irreversible: false,
    idempotency_key: 'k',
    key_scope: 'session',
    timeout_ms: null,
  })
  expect(erasedPayload('run.moved', { epoch: 3, result: { secret: 1 } })).toEqual({ epoch: 3, result: '[redacted]' })
})

test('erased payload: a text that is nested deeper than any stack is not what a redaction leaves', () => {
  const deep = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`
  const text = JSON.stringify({ ...payloads['session.created'], config: 0 }).replace('"config":0', `"config":${deep}`)
  expect(isErased('session.created', 1, text)).toBe(false)
})

test('erased payload: a field that is null stays null, so a turn without an input uses up no steer', () => {
  const started = { turn_id: 'trn_1', agent_id: 'agt_1' }
  expect(erasedPayload('turn.started', { ...started, input: null })).toEqual({ ...started, input: null })
  expect(erasedPayload('turn.started', { ...started, input: 'hello' })).toEqual({ ...started, input: '[redacted]' })
})

test.each(['constructor', '__proto__', 'toString'])('upcast: a stored kind called %s has no earlier shape', (kind) => {
  expect(upcast(kind as Kind, 1, { a: 1 })).toEqual({ a: 1 })
})
