import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createRegistry, readCall } from '../../../src/runtime/tools/registry.ts'
import { roughText } from '../../support/rough-text.ts'
import { sha256 } from '../../support/sha256.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'

const refund = tool({
  name: 'payments.refund',
  input: z.strictObject({
    order: z.string(),
    cents: z.int().min(1).default(100),
    lines: z.array(z.object({ id: z.int() })).optional(),
  }),
  run: () => null,
})
const ping = tool({ name: 'ping', input: z.object({}), run: () => null })
const careless = tool({
  name: 'careless',
  input: z.object({}).refine(() => {
    throw new Error('my check broke')
  }),
  run: () => null,
})
const registry = createRegistry([refund, ping, careless], sha256)
const read = (name: string, args: string | Json) => readCall(registry, { name, arguments: args })

test('read call: arguments may come as text or as a value, and defaults are filled in', () => {
  const expected = { tool: refund, args: { order: '42', cents: 100 } }
  expect(read('payments.refund', '{"order":"42"}')).toEqual(expected)
  expect(read('payments.refund', { order: '42' })).toEqual(expected)
})

test.each(['', ' \n', '{}'])('read call: a tool without arguments takes %j', (written) => {
  expect(read('ping', written)).toEqual({ tool: ping, args: {} })
})

test('read call: an unknown tool is answered with the likely one and with all there are', () => {
  expect(read('payments_refund', '{"order":"42"}')).toEqual({
    problem:
      'There is no tool "payments_refund". Did you mean payments.refund? Available tools: payments.refund, ping, careless.',
    args: { order: '42' },
  })
  expect(readCall(createRegistry([], sha256), { name: 'x', arguments: '' })).toMatchObject({
    problem: 'There is no tool "x". This agent has no tools.',
  })
})

test('read call: broken JSON is named, and its text is kept', () => {
  expect(read('payments.refund', '{"order": "42"')).toEqual({
    problem: expect.stringMatching(/^The arguments are not JSON: .* payments.refund was not run.$/),
    args: '{"order": "42"',
  })
})

test('read call: everything that does not fit is named at once, with its place', () => {
  const { problem } = read('payments.refund', { order: 7, cents: 0, lines: [{ id: 1 }, { id: 'x' }], extra: 1 }) as {
    problem: string
  }
  expect(problem).toMatch(/^The arguments do not fit payments.refund: /)
  for (const place of ['/order: ', '/cents: ', '/lines/1/id: ', '"extra"']) expect(problem).toContain(place)
})

test('read call: arguments that no record could hold are a problem, not a crash', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  expect(read('ping', deep)).toMatchObject({
    problem: expect.stringContaining('nested deeper than 64 levels'),
    args: `${'['.repeat(4_000)}…`,
  })
  expect(read('payments.refund', '{"order":"\\ud800"}')).toMatchObject({
    problem: expect.stringContaining('lone surrogate'),
  })
  expect(read('ping', { at: new Date(0) } as never)).toMatchObject({
    problem: expect.stringContaining('$.at'),
    args: null,
  })
})

test('read call: a schema that makes something of the arguments that is not JSON is a problem, not a crash', () => {
  const odd = tool({ name: 'odd', input: z.object({ a: z.string().overwrite((a) => `${a}\ud800`) }), run: () => null })
  const answer = readCall(createRegistry([odd], sha256), { name: 'odd', arguments: { a: 'x' } })
  expect(answer).toEqual({ problem: expect.stringContaining('lone surrogate'), args: { a: 'x' } })
})

test('read call: a check of the developer that throws is a problem, not a crash', () => {
  expect(read('careless', {})).toMatchObject({ problem: expect.stringContaining('my check broke') })
})

test('read call: any output of a model is read as a call or a sentence, and can be recorded', () => {
  const written = fc.oneof(roughText(), fc.json(), fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>)
  const name = fc.oneof(fc.constantFrom('ping', 'payments.refund', 'careless'), roughText())
  fc.assert(
    fc.property(name, written, (called, args) => {
      const answer = read(called, args)
      expect(() => canonicalJson(answer.args)).not.toThrow()
      if ('problem' in answer) expect(() => canonicalJson(answer.problem)).not.toThrow()
      else expect(answer.tool.name).toBe(called)
    }),
    { seed: 3, numRuns: proof ? 5_000 : 120 },
  )
})
