import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/kernel/canonical-json.ts'
import type { Json } from '../../src/kernel/json.ts'
import { createMatcher } from '../../src/runelog/matcher.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { cleanStream } from '../../src/runtime/clean-stream.ts'

const secret = fc.string({ minLength: 8, maxLength: 16, unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '7', '[') })

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
      ['short', 'password'],
      ['long', 'password-of-mine'],
    ]),
  })
  expect(redactor.clean(['password-of-mine', 'password', 'a password-of-mine and a password']).value).toEqual([
    '[secret:long]',
    '[secret:short]',
    'a [secret:long] and a [secret:short]',
  ])
})

test('the digits of a secret are found in a number', () => {
  const redactor = createRedactor({ secrets: new Map([['pin', '47114711']]) })
  expect(redactor.clean({ n: 47114711, m: 47 }).value).toEqual({ n: '[secret:pin]', m: 47 })
})

test('a declared field is replaced whatever it holds', () => {
  const redactor = createRedactor({ secret_fields: ['token'] })
  expect(redactor.clean({ a: [{ token: { deep: ['x'] } }], tokens: 1 }).value).toEqual({
    a: [{ token: '[secret:token]' }],
    tokens: 1,
  })
})

test('F-91 redactor: a secret that would be found everywhere is refused with the reason', () => {
  expect(() => createRedactor({ secrets: new Map([['pin', 'abcd123']]) })).toThrow(
    'secrets.pin has 7 characters; a secret needs at least 8',
  )
})

describe('F-91 redactor: the forms of a secret', () => {
  const secret = 'p"ss/wörd+<&>?=\\9 ~\'x'
  const redactor = createRedactor({ secrets: new Map([['s', secret]]) })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const forms: Readonly<Record<string, string>> = {
    'as it is': secret,
    'in upper case': secret.toUpperCase(),
    'in lower case': secret.toLowerCase(),
    'in JSON': JSON.stringify({ a: secret }),
    'in JSON in JSON': JSON.stringify(JSON.stringify({ a: secret })),
    'in JSON with slashes escaped': JSON.stringify(secret).replaceAll('/', '\\/'),
    'in JSON of ASCII': JSON.stringify(secret).replaceAll('ö', '\\u00f6'),
    'in base64 after 0 bytes': base64(`${secret}and more`),
    'in base64 after 1 byte': base64(`x${secret}`),
    'in base64 after 2 bytes': base64(`xy${secret}z`),
    'as Basic credentials': `Basic ${base64(`admin:${secret}`)}`,
    'in base64url': Buffer.from(`??>${secret}`).toString('base64url'),
    'in a query': `https://x.test/?k=${encodeURIComponent(secret)}`,
    'in a query with small digits': encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
    'in a form': new URLSearchParams({ k: secret }).toString(),
    'in HTML': secret
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
    'in hex': Buffer.from(secret).toString('hex'),
    'in upper-case hex': Buffer.from(secret).toString('hex').toUpperCase(),
  }
  test.each(Object.entries(forms))('%s is taken out of a payload, a key, an error and a stream', (_, form) => {
    const around = `before ${form} after`
    const { text } = redactor.clean({ deep: [{ [form]: around }], error: new Error(around).message })
    expect(text).toContain('[secret:s]')
    for (const part of [form, JSON.stringify(form).slice(1, -1)]) expect(text).not.toContain(part)
    expect(redactor.find(around)).toBe('s')
    for (let cut = 1; cut < around.length; cut++) {
      const stream = cleanStream(redactor)
      const passed = stream.add(around.slice(0, cut)) + stream.add(around.slice(cut)) + stream.end()
      expect(passed).toBe(redactor.clean(around).value)
    }
  })

  test('any secret in base64, at any place, is found', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 }),
        fc.string({ maxLength: 5 }),
        fc.string({ maxLength: 5 }),
        (value, before, after) => {
          const one = createRedactor({ secrets: new Map([['s', value.toWellFormed()]]) })
          const encoded = Buffer.from(`${before}${value.toWellFormed()}${after}`)
          for (const form of ['base64', 'base64url', 'hex'] as const)
            expect(one.find(encoded.toString(form)), form).toBe('s')
        },
      ),
      { seed: 91, numRuns: 300 },
    )
  })

  test('an ordinary text is left as it is', () => {
    const text = 'The order ord_01J8ZQ4 of 2026-11-15 was paid in full: aHR0cHM6Ly9leGFtcGxlLnRlc3Q= and 70617373.'
    expect(redactor.clean({ text }).value).toEqual({ text })
  })

  test('the search agrees with looking for each pattern by itself', () => {
    const unit = fc.constantFrom('a', 'b', 'c')
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit, minLength: 2, maxLength: 6 }), { minLength: 1, maxLength: 5 }),
        fc.string({ unit, maxLength: 60 }),
        fc.nat(10),
        (patterns, text, from) => {
          const places = patterns.map((p) => text.indexOf(p, from)).filter((at) => at >= 0)
          const found = createMatcher(patterns).next(text, from)
          expect(found?.from).toBe(places.length === 0 ? undefined : Math.min(...places))
          const begun = Math.max(
            ...patterns.flatMap((p) => [...p].map((_, i) => (i > 0 && text.endsWith(p.slice(0, i)) ? i : 0))),
          )
          expect(createMatcher(patterns).begunAtEnd(text)).toBe(begun)
        },
      ),
      { seed: 91, numRuns: 3_000 },
    )
  })
})
