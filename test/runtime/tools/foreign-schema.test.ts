import { expect, test } from 'vitest'
import type { z } from 'zod'
import { outsidePlan } from '../../../src/runtime/run/advance.ts'
import { foreignShape } from '../../../src/runtime/tools/foreign-schema.ts'

const text = (pattern: string) => ({ type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] })

function shapeOf(schema: unknown): z.ZodType {
  const read = foreignShape(schema)
  if ('problem' in read) throw new Error(read.problem)
  return read.shape
}

const fits = (schema: unknown, value: unknown) => shapeOf(schema).safeParse(value).success

/** Patterns over which a backtracking engine takes years, and a text for each that does not match. */
const disasters: readonly (readonly [pattern: string, text: string])[] = [
  ['^(a+)+$', `${'a'.repeat(50_000)}!`],
  ['^(a|aa)+$', `${'a'.repeat(50_000)}!`],
  ['^(a|a)*$', `${'a'.repeat(50_000)}!`],
  ['^(.*a){20}$', 'a'.repeat(5_000).concat('!')],
  ['^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}$', 'a'.repeat(50_000)],
  ['(x+x+)+y', 'x'.repeat(50_000)],
]

test.each(disasters)('F-86 foreign schemas: %s is checked in linear time', (pattern, long) => {
  const shape = shapeOf(text(pattern))
  const before = performance.now()
  expect(shape.safeParse({ a: long }).success).toBe(false)
  expect(performance.now() - before).toBeLessThan(2_000)
})

test('F-86 foreign schemas: patterns are checked wherever they must hold, and named with their place', () => {
  expect(fits(text('^[A-Z]{3}-\\d{4}$'), { a: 'ABC-1234' })).toBe(true)
  const wrong = shapeOf(text('^[A-Z]{3}-\\d{4}$')).safeParse({ a: 'abc' })
  expect(wrong.error?.issues).toMatchObject([{ path: ['a'], message: 'It must match ^[A-Z]{3}-\\d{4}$.' }])
  const word = { type: 'string', pattern: '^\\w+$' }
  const list = { type: 'object', properties: { of: { type: 'array', items: word } } }
  expect([fits(list, { of: ['a', 'b'] }), fits(list, { of: ['a', 'b c'] })]).toEqual([true, false])
  const names = { type: 'object', additionalProperties: word }
  expect([fits(names, { x: 'a' }), fits(names, { x: ' ' })]).toEqual([true, false])
  const all = { type: 'object', properties: { a: { allOf: [{ type: 'string' }, word] } } }
  expect([fits(all, { a: 'x' }), fits(all, { a: '!' })]).toEqual([true, false])
  // A member that is called pattern is no pattern.
  expect(fits({ type: 'object', properties: { pattern: { type: 'string' } } }, { pattern: '(' })).toBe(true)
})

const chain = (length: number) => ({
  type: 'object',
  properties: { a: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries(
    Array.from({ length }, (_, i) => [
      `d${i}`,
      i === length - 1 ? { type: 'string' } : { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]),
  ),
})

const nested = (depth: number): object => (depth === 0 ? {} : { type: 'object', properties: { a: nested(depth - 1) } })

test.each([
  ['a look-behind', text('(?<!a)b'), /RE2 cannot read its pattern/],
  ['a back reference', text('(a)\\1'), /RE2 cannot read its pattern/],
  ['a pattern that is none', text('('), /RE2 cannot read its pattern/],
  ['a long pattern', text('a'.repeat(2_000)), /more than 1000 characters/],
  ['a pattern that explodes', text('((a{0,1000}){0,1000}){0,1000}'), /RE2 cannot read its pattern/],
  ['a pattern below not', { type: 'object', not: text('a') }, /below a part that need not hold/],
  ['a pattern below anyOf', { anyOf: [text('a'), text('b')] }, /below a part that need not hold/],
  ['names by pattern', { type: 'object', patternProperties: { '^(a+)+$': {} } }, /patternProperties/],
  ['a reference to itself', { type: 'object', properties: { a: { $ref: '#' } } }, /refers to itself/],
  ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/nowhere' } } }, /does not have/],
  ['a reference to elsewhere', { type: 'object', properties: { a: { $ref: 'http://example.com' } } }, /not part of it/],
  ['a billion laughs', chain(30), /too large once its references are followed/],
  ['a schema nested 5,000 deep', nested(5_000), /deeper than 64 levels/],
] as const)('F-86 foreign schemas: %s is refused with a sentence', (_, schema, says) => {
  expect(foreignShape(schema)).toEqual({ problem: expect.stringMatching(says) })
  // A plan with such a schema allows nothing.
  const allowed = [{ name: 'orders.look', args_schema: schema as never }]
  expect(outsidePlan(allowed, 'orders.look', {})).toMatch(
    /^outside_plan: the schema that the plan gives orders\.look cannot be read: /,
  )
})

test('F-86 foreign schemas: references without a ring are followed, and defaults are filled in', () => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/word' }, n: { type: 'integer', default: 3 } },
    $defs: { word: { type: 'string' } },
  }
  expect(shapeOf(schema).parse({ a: 'x' })).toEqual({ a: 'x', n: 3 })
})

test('F-86 foreign schemas: the built-in formats take linear time over long texts', () => {
  const formats = ['email', 'uri', 'uuid', 'date-time', 'date', 'time', 'duration', 'hostname', 'ipv4', 'ipv6', 'jwt']
  const long = ['a', '1', 'a.', '-', ' ', ':', '0:', 'a-', '%', '@', 'P', '1Y'].map((piece) => piece.repeat(30_000))
  for (const format of [
    ...formats,
    'mac',
    'cidr',
    'cidr-v6',
    'base64',
    'base64url',
    'e164',
    'emoji',
    'nanoid',
    'cuid',
    'iban',
  ]) {
    const shape = shapeOf({ type: 'object', properties: { a: { type: 'string', format } } })
    for (const value of long) {
      const before = performance.now()
      shape.safeParse({ a: `${value}!` })
      expect(performance.now() - before, `${format} over ${value.slice(0, 4)}`).toBeLessThan(1_000)
    }
  }
})
