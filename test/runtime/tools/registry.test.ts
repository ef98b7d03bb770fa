import { expect, test } from 'vitest'
import { z } from 'zod'
import { definitionDigest, tool } from '../../../src/runtime/tools/define-tool.ts'
import { createRegistry } from '../../../src/runtime/tools/registry.ts'
import { sha256 } from '../../support/sha256.ts'

const named = (name: string) =>
  tool({ name, input: z.object({ id: z.int() }), description: `Does ${name}.`, run: () => null })
const tools = ['payments.refund', 'payments.charge', 'mail.send'].map(named)
const registry = createRegistry(tools, sha256)

test('registry: a tool is found by its exact name, with the digest of its definition', () => {
  expect(registry.find('mail.send')).toBe(tools[2])
  expect(registry.digestOf('mail.send')).toBe(definitionDigest(named('mail.send'), sha256))
  expect(registry.find('Mail.send')).toBeUndefined()
  expect(registry.digestOf('toString')).toBeNull()
})

test('registry: the model is told name, description and the JSON Schema of the arguments', () => {
  expect(registry.descriptions[0]).toEqual({
    name: 'payments.refund',
    description: 'Does payments.refund.',
    input_schema: {
      type: 'object',
      properties: { id: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } },
      required: ['id'],
    },
  })
})

test('registry: a union of objects is described as an object', () => {
  const either = tool({
    name: 'either',
    input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    run: () => null,
  })
  expect(createRegistry([either], sha256).descriptions[0]?.input_schema).toMatchObject({ type: 'object' })
})

test('registry: two tools of one name are refused', () => {
  expect(() => createRegistry([named('a'), named('a')], sha256)).toThrow(
    expect.objectContaining({ code: 'bad_definition' }),
  )
})

test.each([
  ['payments_refund', 'payments.refund'],
  ['Payments.Refund', 'payments.refund'],
  ['payment.refunds', 'payments.refund'],
  ['refund', 'payments.refund'],
  ['mail.sent', 'mail.send'],
  ['send', 'mail.send'],
  ['files.delete', undefined],
  ['', undefined],
  ['x'.repeat(1_000_000), undefined],
])('registry: for the unknown name %.30s the nearest is %s', (written, nearest) => {
  expect(registry.nearest(written)).toBe(nearest)
})
