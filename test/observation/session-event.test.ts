import { describe, expect, test } from 'vitest'
import { runMachine } from '../../src/machines/run.ts'
import { sessionEvents } from '../../src/observation/session-event.ts'
import { type Kind, kinds } from '../../src/runes/kinds.ts'
import type { Draft, Rune } from '../../src/runes/rune.ts'
import { sessionEvent } from '../../src/wire/session-event.ts'
import { created, move, opening, payloads, plain } from '../support/drafts.ts'
import { everyKind } from '../support/every-kind.ts'

const asRune = (draft: Draft, more: object = {}) =>
  ({ visibility: 'public', session_id: 'ses_1', event_id: 1, ...draft, ...more }) as unknown as Rune

const opened = {
  ...opening('contract', 'exe_1', { irreversible: true }),
  execution_id: 'exe_1',
} as Draft<'contract.opened'>
const types = (rune: Rune, how = opened) => sessionEvents(rune, how).map(({ type }) => type)

/** The events of each kind; every other kind gives none. */
const expected: { readonly [K in Kind]?: readonly string[] } = {
  'turn.assistant_delta': ['delta'],
  'turn.emotion_detected': ['emotion'],
  'turn.tool_calls_received': ['text'],
  'turn.completed': ['text'],
  'turn.interrupted': ['text'],
  'turn.error': ['text', 'error'],
  'tool.result': ['tool_result'],
  'contract.moved': ['execution_state'],
  'memory.committed': ['memory_saved'],
  'interaction.opened': ['ecs'],
}

const followed = ['session', 'run', 'interaction', 'coordination', 'goal']

describe('session event: each kind of rune', () => {
  const drafts = everyKind('ses_1').flat()
  const texts = { text: 'a', final_output: 'a', partial_output: 'a' }

  test.each(Object.keys(kinds).filter((kind) => kind !== 'session.archived' && kind !== 'rune.redacted'))(
    '%s',
    (kind) => {
      const draft = drafts.find((d) => d.kind === kind) as Draft
      const said = Object.entries(texts).filter(([name]) => name in payloads[kind as Kind])
      const partial = kind === 'turn.error' ? { partial_output: 'a' } : {}
      const rune = asRune({ ...draft, payload: { ...draft.payload, ...Object.fromEntries(said), ...partial } } as Draft)
      const status = followed.includes(rune.machine ?? '') && kind !== 'run.requested' ? ['status'] : []
      const told = types(rune)
      expect(told.filter((type) => (type !== 'done' && type !== 'error') || kind === 'turn.error')).toEqual(
        expected[kind as Kind] ?? status,
      )
      // As it is declared, and as JSON leaves it.
      for (const event of sessionEvents(rune, opened)) {
        const envelope = { session_id: 'ses_1', event_id: 1, at: 1, durable: true }
        const sent = JSON.parse(JSON.stringify({ ...envelope, ...event }))
        expect(sessionEvent.safeParse(sent).error?.issues, kind).toBeUndefined()
      }
      for (const visibility of ['internal', 'secret']) expect(types({ ...rune, visibility } as Rune)).toEqual([])
    },
  )
})

test('session event: every run is done once; a failed one gives its reason first', () => {
  for (const { from, on, to, rune } of runMachine.transitions) {
    if (rune !== 'run.moved') continue
    const told = types(asRune(move('run', 'run_1', [from, on, to], { error_code: 'E' }), { run_id: 'run_1' }))
    const { terminal } = runMachine.states[to] as { terminal?: boolean }
    expect(told).toEqual(['status', ...(to === 'failed' ? ['error'] : []), ...(terminal ? ['done'] : [])])
  }
})

test('session event: text that was not said gives no event', () => {
  const silent = { text: '', usage: { input_tokens: 0, output_tokens: 0 } }
  expect(types(asRune(plain('turn.tool_calls_received', silent)))).toEqual([])
  expect(types(asRune(plain('turn.error')))).toEqual(['error'])
})

test('session event: a move of a contract that began in secret is not told', () => {
  const move1 = asRune({ ...move('contract', 'exe_1', ['pending', 'start']), execution_id: 'exe_1' } as Draft)
  expect(types(move1)).toEqual(['execution_state'])
  expect(types(move1, { ...opened, visibility: 'secret' })).toEqual([])
  expect(types(asRune(created('ses_1')))).toEqual(['status'])
})

test('session event: a form comes with its fields, and its id is the one to answer', () => {
  const request = { type: 'form', fields: [{ name: 'size' }], id: 'x' }
  const form = opening('interaction', 'int_1', { interaction_kind: 'ecs', prompt: 'Size?', request })
  const [event] = sessionEvents(asRune(form, { interaction_id: 'int_1', call_id: 'cal_1' }))
  expect(event).toMatchObject({
    type: 'ecs',
    payload: {
      id: 'int_1',
      type: 'form',
      title: 'Size?',
      fields: [{ name: 'size' }],
      session_id: 'ses_1',
      interaction_kind: 'ecs',
    },
  })
})
