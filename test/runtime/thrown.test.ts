import { describe, expect, test } from 'vitest'
import { evidenceOf, isAbort, readThrown, stackOf } from '../../src/runtime/thrown.ts'

/** A list of 4 million items that takes little memory: it holds itself many times over. */
function shared(): unknown {
  let list: unknown[] = ['y'.repeat(1_000)]
  for (let i = 0; i < 22; i++) list = [list, list]
  return list
}

function sparse(): unknown {
  const list: unknown[] = []
  list[4_294_967_290] = 1
  return list
}

const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error('nothing to be read here')
    },
    getPrototypeOf() {
      throw new Error('nor this')
    },
  },
)

const huge = {
  shared,
  sparse,
  'a number of many digits': () => 2n ** (2n ** 24n),
  'as bytes': () => new Uint8Array(1e8),
}

/** How long this takes; a list that is converted to text takes ten seconds and more. */
function timed(work: () => void): number {
  const before = performance.now()
  work()
  return performance.now() - before
}

describe('F-88 thrown values: the message', () => {
  test.each(Object.entries(huge))('of a huge value (%s) is short, and is made at once', (_, make) => {
    const thrown = make()
    const took = timed(() => {
      expect(readThrown(thrown).message).toMatch(/ was thrown\.( It has no message\.)?$/)
      expect(readThrown(Object.assign(new Error('down'), { message: thrown })).message).toBe('Error')
      expect(evidenceOf('tool', { message: 'down', code: thrown, cause: thrown }, (text) => text).message).toBe('down')
    })
    expect(took).toBeLessThan(1_000)
  })

  test.each<[string, () => unknown, string]>([
    ['an error', () => new TypeError('down'), 'down'],
    ['an error without a message', () => new RangeError(), 'RangeError'],
    ['an object with a message', () => ({ message: 'down' }), 'down'],
    ['one without a prototype', () => Object.assign(Object.create(null), { message: 'down' }), 'down'],
    ['an object with a text of its own', () => ({ toString: () => 'down' }), 'down'],
    ['a list', () => ['down'], 'A list was thrown. It has no message.'],
    ['an object whose message is a list', () => ({ message: ['down'] }), 'An object was thrown. It has no message.'],
    ['an empty object', () => Object.create(null), 'An object was thrown. It has no message.'],
    ['an object whose text is a list', () => ({ toString: shared }), 'Something was thrown that cannot be shown.'],
    ['an object that cannot be read', () => unreadable, 'Something was thrown that cannot be shown.'],
    ['a bigint', () => 12n, '12'],
    ['null', () => null, 'null'],
  ])('of %s is a sentence', (_, make, message) => {
    expect(readThrown(make())).toEqual({ message, kind: 'thrown' })
  })

  test('of an error whose message is very long is cut', () => {
    expect(readThrown(new Error('x'.repeat(10_000_000))).message).toHaveLength(4_000)
  })
})

describe('F-88 thrown values: the answer of the other side', () => {
  const bodyOf = (data: unknown) =>
    evidenceOf('tool', { message: 'down', response: { status: 504, data } }, (text) => text)

  test.each(Object.entries(huge))('is cut, and is read at once (%s)', (_, make) => {
    const data = make()
    const took = timed(() => expect(bodyOf({ data }).response?.body ?? '').not.toHaveLength(2_001))
    expect(took).toBeLessThan(1_000)
  })

  test('is shown from its beginning', () => {
    const items = Array.from({ length: 100_000 }, (_, i) => `item ${i}`)
    const { response } = bodyOf({ reference: 'ZX-81', items })
    expect(response).toMatchObject({
      status: 504,
      body: expect.stringMatching(/^{"reference":"ZX-81","items":\["item 0",/),
    })
    expect(response?.body).toHaveLength(2_000)
  })
})

test('F-88 thrown values: nothing that is asked about one throws', () => {
  expect(isAbort(unreadable, undefined)).toBe(false)
  expect(stackOf(unreadable)).toBe('Something was thrown that cannot be shown.')
  expect(stackOf({ stack: 12, message: 'down' })).toBe('down')
  expect(stackOf(new Error('down'))).toMatch(/^Error: down\n +at /)
  expect(evidenceOf('probe', unreadable, (text) => text)).toEqual({
    source: 'probe',
    message: 'Something was thrown that cannot be shown.',
  })
})
