import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { buildRequest, isRepeated, retryDelay, usualRetries } from '../../../src/runtime/turns/model-call.ts'
import type { ConsequenceView, Message } from '../../../src/wire/dialogue.ts'

const view: ConsequenceView = {
  execution_id: 'exe_1',
  action_type: 'tool_call',
  action_summary: 'mail.send',
  consequence_label: 'SUCCESS',
  result: { id: 7 },
  error_message: null,
  has_side_effects: false,
  was_suspended: false,
  decided_by: null,
  is_still_pending: false,
  total_duration_ms: 5,
}

/** Waits as long as it may, and as short. */
const [longest, shortest] = [1, 0].map((part) => ({ random: () => part })) as [
  { random: () => number },
  { random: () => number },
]

test('turn rules: a stream is tried three times, with longer and longer waits', () => {
  const delays = [1, 2, 3, 4].map((failed) => retryDelay(failed, usualRetries, longest))
  expect(delays).toEqual([1000, 2000, undefined, undefined])
  const patient = { tries: 100, firstDelayMs: 1000, longestDelayMs: 30_000 }
  expect([5, 6, 50].map((failed) => retryDelay(failed, patient, longest))).toEqual([16_000, 30_000, 30_000])
  expect(retryDelay(1, { ...patient, tries: 1 }, longest)).toBeUndefined()
})

test('turn rules: a provider that asks for more time gets it, within reason', () => {
  expect(retryDelay(1, usualRetries, { ...shortest, retryAfterMs: 7_000 })).toBe(7_000)
  expect(retryDelay(2, usualRetries, { ...longest, retryAfterMs: 500 })).toBe(2_000)
  expect(retryDelay(1, usualRetries, { ...longest, retryAfterMs: 3_600_000 })).toBeUndefined()
})

test('F-54 model retry: waits are spread at random between half and all, and never come before the provider wishes', () => {
  const policy = { tries: 9, firstDelayMs: 1_000, longestDelayMs: 30_000 }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.double({ min: 0, max: 1, noNaN: true }), (failed, part) => {
      const whole = Math.min(1_000 * 2 ** (failed - 1), 30_000)
      const delay = retryDelay(failed, policy, { random: () => part }) ?? 0
      expect(delay).toBe(Math.ceil(whole * (0.5 + part / 2)))
      const wished = retryDelay(failed, policy, { random: () => part, retryAfterMs: 60_000 }) ?? 0
      expect(wished).toBeGreaterThanOrEqual(60_000)
      expect(wished).toBeLessThanOrEqual(61_000)
    }),
  )
  // The bounds hold for every value of the port.
  for (const odd of [-1, 7, 1e9]) {
    const delay = retryDelay(1, policy, { random: () => odd }) ?? 0
    expect([500, 1_000]).toContain(delay)
  }
})

const round = (...calls: readonly (readonly [string, Json])[]): Message[] => [
  {
    role: 'assistant',
    text: '',
    calls: calls.map(([name, args], i) => ({ call_id: `call_${i}`, name, arguments: args })),
  },
  ...calls.map((_, i) => ({ role: 'tool', call_id: `call_${i}`, consequence: view }) as const),
]
const again = { name: 'a', arguments: { x: 1, y: 2 } }
const repeated = (...messages: readonly Message[]) => isRepeated(messages, [again], canonicalJson)

test('turn rules: the third identical call in a row is a loop, the second is not', () => {
  const same = round(['a', { y: 2, x: 1 }])
  expect(repeated()).toBe(false)
  expect(repeated(...same)).toBe(false)
  expect(repeated(...same, ...same)).toBe(true)
  expect(repeated(...same, ...same, ...same, ...same)).toBe(true)
})

test('turn rules: other arguments, another tool, or anything said in between is no loop', () => {
  const same = round(['a', { x: 1, y: 2 }])
  expect(repeated(...same, ...round(['a', { x: 1, y: 3 }]))).toBe(false)
  expect(repeated(...same, ...round(['b', { x: 1, y: 2 }]))).toBe(false)
  expect(repeated(...same, ...same, { role: 'user', content: 'try again' })).toBe(false)
  expect(repeated(...same, { role: 'user', content: 'go on' }, ...same)).toBe(false)
  expect(repeated(...same, { role: 'assistant', text: 'done', calls: [] }, ...same)).toBe(false)
})

test('turn rules: a call that comes back among others is a loop too, and text is compared by its content', () => {
  const among = [...round(['b', 1], ['a', { x: 1, y: 2 }]), ...round(['a', { x: 1, y: 2 }], ['c', 1])]
  expect(repeated(...among)).toBe(true)
  expect(isRepeated(among, [{ name: 'a', arguments: ' {"y":2, "x":1}' }], canonicalJson)).toBe(true)
  expect(isRepeated(among, [{ name: 'a', arguments: '{"y":2' }], canonicalJson)).toBe(false)
  expect(isRepeated(among, [{ name: 'b', arguments: 1 }], canonicalJson)).toBe(false)
})

test('turn rules: three identical calls in one answer are not three rounds', () => {
  expect(isRepeated([], [again, again, again], canonicalJson)).toBe(false)
})

test('turn rules: only the end of a dialogue is looked at', () => {
  const touched: number[] = []
  const long = new Proxy(Array.from({ length: 5_000 }, () => round(['z', 0])).flat(), {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) touched.push(Number(key))
      return Reflect.get(target, key, receiver)
    },
  })
  expect(isRepeated(long, [{ name: 'z', arguments: 0 }], canonicalJson)).toBe(true)
  expect(touched.length).toBeLessThan(10)
})

test('turn rules: a request hands the dialogue on unchanged, and explains the labels to an agent with tools', () => {
  const messages = round(['a', {}])
  const tools = [{ name: 'a', description: '', input_schema: {} }]
  const request = buildRequest('a', { instructions: 'Be kind.', messages, tools, memories: ['m'] })
  expect(request.messages).toBe(messages)
  expect(request.memories).toEqual(['m'])
  expect(request.instructions).toMatch(/^Be kind\.\n\n.*UNKNOWN.*IRREVERSIBLE/s)
  expect(buildRequest('a', { instructions: 'Be kind.', messages, tools: [], memories: [] }).instructions).toBe(
    'Be kind.',
  )
})

test('turn rules: state of another model that is added later, or before the model changed, is not handed on', () => {
  const messages: Message[] = [{ role: 'user', content: 'go' }]
  const sent = (model: string) => buildRequest(model, { instructions: '', messages, tools: [], memories: [] }).messages
  expect(sent('a')).toBe(messages)
  messages.push({ role: 'assistant', text: '', calls: [], provider_state: 'secret', provider_model: 'a' })
  expect(sent('a')).toBe(messages)
  expect(JSON.stringify(sent('b'))).not.toContain('secret')
  messages.push({ role: 'assistant', text: '', calls: [], provider_state: 'hidden', provider_model: 'b' })
  expect(JSON.stringify(sent('a'))).toContain('secret')
  expect(JSON.stringify(sent('a'))).not.toContain('hidden')
})
