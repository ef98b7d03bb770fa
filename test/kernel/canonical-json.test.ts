import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../src/kernel/json.ts'

const strict = (value: unknown) => canonicalJson(value as Json)

describe('canonical JSON: the vectors of RFC 8785', () => {
  const double = (bits: string) => new DataView(BigUint64Array.of(BigInt(`0x${bits}`)).buffer).getFloat64(0, true)

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('the number %s is written %s', (bits, written) => {
    expect(canonicalJson(double(bits))).toBe(written)
  })

  test.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('the number %s is refused', (bits) => {
    expect(() => canonicalJson(double(bits))).toThrow(TypeError)
  })

  test('keys are sorted by their UTF-16 code units', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6']
    const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, key])))
    const order = [...text.matchAll(/("(?:[^"\\]|\\.)*"):/g)].map((found) => JSON.parse(found[1] as string))
    expect(order).toEqual(['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33'])
  })

  test('strings, literals and white space are written as in the vectors', () => {
    const sample = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    expect(canonicalJson(JSON.parse(sample))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })
})

const runs = { numRuns: process.env.STATEWRIGHT_PROOF ? 100_000 : 2_000 }
const anyJson = fc
  .jsonValue({ stringUnit: 'binary', maxDepth: 5 })
  .filter((value) => JSON.stringify(value).isWellFormed())

test('canonical json: another implementation writes the same text', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(strict(value)).toBe(canonicalize(value))
    }),
    runs,
  )
})

test('canonical json: the text reads back to the value, and its text is itself', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = strict(value)
      expect(strict(JSON.parse(text))).toBe(text)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    runs,
  )
})

test('canonical json: a key named __proto__ is a key like any other', () => {
  const value = JSON.parse('{"b":1,"__proto__":{"a":2}}')
  expect(canonicalJson(value)).toBe('{"__proto__":{"a":2},"b":1}')
})

class Money {
  readonly amount = 1
  toJSON() {
    return 'one'
  }
}

describe('canonical JSON: a value that is not JSON is refused with its path', () => {
  const holes = [1, 2, 3]
  delete holes[1]

  test.each<[string, unknown, string]>([
    ['undefined', undefined, '$ is undefined'],
    ['a member that is undefined', { a: [{ b: undefined }] }, '$.a[0].b is undefined'],
    ['a Date', { at: new Date(0) }, '$.at is not a plain object'],
    ['a Map', [new Map()], '$[0] is not a plain object'],
    ['a Set', new Set(), '$ is not a plain object'],
    ['bytes', { raw: new Uint8Array(2) }, '$.raw is not a plain object'],
    ['an instance of a class', { price: new Money() }, '$.price is not a plain object'],
    ['an object that would write itself', { a: { toJSON: () => 1 } }, '$.a.toJSON is function'],
    [
      'a list that would write itself',
      { a: Object.assign([1], { toJSON: () => 1 }) },
      '$.a is a list with named members',
    ],
    ['a boxed number', { n: Object(1) }, '$.n is not a plain object'],
    ['a hole in a list', { list: holes }, '$.list[1] is a hole'],
    ['a list with a named member', Object.assign([1], { more: 2 }), '$ is a list with named members'],
    ['NaN', { n: Number.NaN }, '$.n is NaN'],
    ['Infinity', [Number.POSITIVE_INFINITY], '$[0] is Infinity'],
    ['a bigint', { n: 1n }, '$.n is bigint'],
    ['a function', { f: () => 1 }, '$.f is function'],
    ['a symbol', { s: Symbol('s') }, '$.s is symbol'],
    ['a key that is a symbol', { a: { [Symbol('s')]: 1 } }, '$.a is an object with hidden members'],
    [
      'a member that is not enumerable',
      Object.defineProperty({}, 'x', { value: 1 }),
      '$ is an object with hidden members',
    ],
    ['a lone surrogate', { text: 'a\ud800' }, '$.text is a string with a lone surrogate'],
    ['a lone surrogate in a key', { a: { '\udc00': 1 } }, 'a key of $.a is a string with a lone surrogate'],
  ])('%s', (_, value, problem) => {
    expect(() => strict(value)).toThrow(new TypeError(`${problem}, which JSON cannot express.`))
  })
})
