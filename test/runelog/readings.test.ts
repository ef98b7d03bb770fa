import { expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { created, move, plain } from '../support/drafts.ts'

const session_id = 'ses_1'
const secret = 'sk-live-0123456789'
const start = move('turn', 'trn_1', ['idle', 'start_turn'])
const read = { guard: 'input', holds: true, because: 'It begins with input that was sent to the run.' }

/** The result of appending a draft to a new session. */
async function refusal(draft: object): Promise<string> {
  const runelog = openMemoryRunelog(hostPorts, { redactor: createRedactor({ secrets: new Map([['key', secret]]) }) })
  await runelog.append({ session_id, runes: [created(session_id)] })
  const answer = await runelog.append({ session_id, runes: [draft as Draft] })
  return answer instanceof Error ? answer.message : 'recorded'
}

test('readings: a guarded move is recorded with each of its guards, and refused without', async () => {
  expect(await refusal({ ...start, guards: [read] })).toBe('recorded')
  const { guards, ...bare } = start
  expect(await refusal(bare)).toContain('it records no reading of its guard input')
  expect(await refusal({ ...start, guards: [{ ...read, holds: false }] })).toContain('its guard input did not hold')
})

test('readings: a malformed reading is refused, and never thrown', async () => {
  const hostile = [null, 7, 'input', {}, [], [null], [7], [{}], [{ ...read, because: 7 }], [{ ...read, guard: null }]]
  for (const guards of [...hostile, [{ ...read, because: 'x'.repeat(401) }], [{ ...read, because: '\u001b[2J' }]])
    expect(await refusal({ ...start, guards }), JSON.stringify(guards)).toContain('was refused')
})

test('readings: a guard that the rune does not have, a fact that moves nothing, and a secret are refused', async () => {
  expect(await refusal({ ...start, guards: [read, { ...read, guard: 'force' }] })).toContain('no guard force')
  const delta = plain('turn.assistant_delta', { content: 'x' })
  expect(await refusal({ ...delta, guards: [read] })).toContain('Only a move has readings')
  expect(await refusal({ ...start, guards: [{ ...read, because: `It has ${secret}.` }] })).toContain('secret')
})
