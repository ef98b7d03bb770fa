import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainSchema } from '../../../src/adapters/ai-sdk/ai-sdk-model.ts'
import { classifyError, errorTypes, retryAfter, withoutKeys } from '../../../src/adapters/ai-sdk/classify-error.ts'
import { wireNames } from '../../../src/adapters/ai-sdk/provider-shapes.ts'

const seed = 20_261_101

describe('AI SDK: tool names on the wire', () => {
  test('a dot becomes an underscore, a name that fits stays, and no tool loses its name to another', () => {
    const names = wireNames(['mail.send', 'mail/send', 'mail_send', 'look'])
    expect(['mail.send', 'mail/send', 'mail_send', 'look'].map(names.toWire)).toEqual([
      'mail_send_2',
      'mail_send_3',
      'mail_send',
      'look',
    ])
    expect(names.fromWire('mail_send_2')).toBe('mail.send')
    expect(names.fromWire('never.told')).toBe('never.told')
    expect(names.toWire('gone.tool')).toBe('gone_tool')
  })

  test('providers accept every wire name, and each leads back to its tool', () => {
    const name = fc.oneof(fc.string(), fc.stringMatching(/^[a-z._]{1,4}$/), fc.string({ minLength: 60, maxLength: 70 }))
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 12 }), (tools) => {
        const names = wireNames(tools)
        for (const tool of tools) {
          expect(names.toWire(tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
          expect(names.fromWire(names.toWire(tool))).toBe(tool)
        }
      }),
      { seed },
    )
  })
})

describe('AI SDK: schemas', () => {
  test('an object stays as it is', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    expect(plainSchema(schema)).toEqual(schema)
    expect(plainSchema({})).toEqual({ type: 'object' })
  })

  test('choices at the top become fields, of which those are required that each choice requires', () => {
    const choice = (kind: string, field: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, [field]: { type: 'string' } },
      required: ['kind', field],
      additionalProperties: false,
    })
    expect(
      plainSchema({ type: 'object', $defs: {}, oneOf: [choice('card', 'number'), choice('cash', 'drawer')] }),
    ).toEqual({
      type: 'object',
      $defs: {},
      properties: {
        kind: { anyOf: [{ const: 'card' }, { const: 'cash' }] },
        number: { type: 'string' },
        drawer: { type: 'string' },
      },
      required: ['kind'],
    })
  })

  test('parts that all hold are put together', () => {
    const part = (field: string) => ({ type: 'object', properties: { [field]: {} }, required: [field] })
    expect(plainSchema({ allOf: [part('a'), part('b')] })).toEqual({
      type: 'object',
      properties: { a: {}, b: {} },
      required: ['a', 'b'],
    })
  })
})

test.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'Retry-After': ' 0.5 ' }, 500],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after-ms': '12.2', 'retry-after': '9' }, 13],
  [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9_000],
  [{ 'retry-after': new Date(1_700_000_060_000).toUTCString() }, 60_000],
  [{ 'retry-after': new Date(1_600_000_000_000).toUTCString() }, 0],
  [{ 'retry-after': '-3' }, undefined],
  [{ 'retry-after': 'later' }, undefined],
  [{}, undefined],
  [undefined, undefined],
])('ai-sdk shapes: the wait asked for by %j is %s', (headers, expected) => {
  expect(retryAfter(headers, 1_700_000_000_000)).toBe(expected)
})

test.each([
  'sk-ant-api03-AbCdEf0123456789',
  'sk-proj-abcdefgh1234',
  'Bearer eyJhbGciOi.J9.abc',
  'x-api-key: whatever',
  '"api_key":"opensesame"',
  'AIzaSyA1234567890abcdefg',
  '0123456789abcdef0123456789abcdef',
])('AI SDK: the key in "Not valid: %s!" is not shown', (secret) => {
  const told = withoutKeys(`Not valid: ${secret}!`)
  expect(told).toContain('Not valid: ')
  expect(told).toContain('[key]')
  for (const part of secret.split(/[\s":]+/).filter((word) => /\d|open|whatever/.test(word)))
    expect(told).not.toContain(part)
})

test('ai-sdk shapes: text that is not a key stays', () => {
  const said = 'Request req_011CSHoEeqs5C35K2UUqR7Fy0123456789: max_tokens 128000 exceeds 8192; the key is missing.'
  expect(withoutKeys(said)).toBe(said)
})

test('AI SDK: every thrown value gets a type of the table and a sentence', () => {
  const hostile = fc.constant(
    Object.defineProperty({}, 'message', {
      get() {
        throw new Error('ha')
      },
    }),
  )
  const thrown = fc.oneof(
    fc.anything({ withNullPrototype: true }),
    hostile,
    fc.object({
      key: fc.constantFrom(
        'error',
        'data',
        'cause',
        'code',
        'type',
        'message',
        'statusCode',
        'responseBody',
        'responseHeaders',
      ),
    }),
  )
  fc.assert(
    fc.property(thrown, (value) => {
      const { errorType, message, retryable } = classifyError(value, 0)
      expect(Object.keys(errorTypes)).toContain(errorType)
      expect(message).not.toBe('')
      expect(retryable).toBe(errorTypes[errorType as keyof typeof errorTypes].retryable)
    }),
    { seed },
  )
})

test.each([
  [new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) }), 'connection_lost'],
  [
    new TypeError('terminated', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }) }),
    'connection_lost',
  ],
  [Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' }), 'timeout'],
  [new TypeError('terminated', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_BODY_TIMEOUT' }) }), 'timeout'],
  [new DOMException('The operation timed out', 'TimeoutError'), 'timeout'],
  [new DOMException('Aborted by somebody else', 'AbortError'), 'connection_lost'],
  [{ error: { code: 429, message: 'Provider returned error' } }, 'rate_limited'],
  [{ type: 'overloaded_error', message: 'Overloaded' }, 'provider_error'],
  ['prompt is too long', 'context_too_long'],
  [undefined, 'provider_error'],
])('ai-sdk shapes: %s is %s', (thrown, errorType) => {
  expect(classifyError(thrown, 0)).toMatchObject({ errorType })
})
