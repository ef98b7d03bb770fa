import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/kernel/canonical-json.ts'
import type { Json } from '../../src/kernel/json.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'

const secret = fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '7', '[') })

test('whatever the secret and wherever it stands, it is not in the text', () => {
  fc.assert(
    fc.property(secret, fc.jsonValue({ maxDepth: 3 }), fc.string(), (value, rest, around) => {
      const redactor = createRedactor({ secrets: new Map([['s', value]]) })
      const hidden = {
        [`k${value}`]: [`${around.toWellFormed()}${value}${around.toWellFormed()}`, rest, value],
      } as Json
      const { text, value: cleaned } = redactor.clean(JSON.parse(JSON.stringify(hidden).toWellFormed()) as Json)
      const strings = JSON.stringify(JSON.parse(text), (_, v) => v)
      fc.pre(!'[secret:s]'.includes(value))
      expect(strings.split(JSON.stringify(value).slice(1, -1))).toHaveLength(1)
      expect(canonicalJson(cleaned)).toBe(text)
    }),
    { seed: 2 },
  )
})

test('of two secrets where one contains the other, each is named as itself', () => {
  const redactor = createRedactor({
    secrets: new Map([
      ['short', 'pass'],
      ['long', 'password'],
    ]),
  })
  expect(redactor.clean(['password', 'pass', 'a password and a pass']).value).toEqual([
    '[secret:long]',
    '[secret:short]',
    'a [secret:long] and a [secret:short]',
  ])
})

test('the digits of a secret are found in a number', () => {
  const redactor = createRedactor({ secrets: new Map([['pin', '471147']]) })
  expect(redactor.clean({ n: 471147, m: 47 }).value).toEqual({ n: '[secret:pin]', m: 47 })
})

test('a declared field is replaced whatever it holds', () => {
  const redactor = createRedactor({ secret_fields: ['token'] })
  expect(redactor.clean({ a: [{ token: { deep: ['x'] } }], tokens: 1 }).value).toEqual({
    a: [{ token: '[secret:token]' }],
    tokens: 1,
  })
})

test('a secret that would be found everywhere is refused', () => {
  expect(() => createRedactor({ secrets: new Map([['s', 'abc']]) })).toThrow('shorter than four')
})
