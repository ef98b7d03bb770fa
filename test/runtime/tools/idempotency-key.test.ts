import { expect, test } from 'vitest'
import type { Json } from '../../../src/kernel/json.ts'
import { actionOf, idempotencyKey, saltedKey } from '../../../src/runtime/tools/policy.ts'
import { sha256 } from '../../support/sha256.ts'

const keyed = (name: string) => ({ name, key: (args: unknown) => (args as { order: string }).order })

test('idempotency key: a name is split at its last dot', () => {
  expect(actionOf('payments.eu.refund')).toEqual({ service: 'payments.eu', method: 'refund' })
  expect(actionOf('ping')).toEqual({ service: '', method: 'ping' })
})

test('idempotency key: the key is the SHA-256 of service, method and arguments in their one text', () => {
  const key = idempotencyKey({ name: 'mail.send' }, { to: 'a@b.com', body: 'x' }, sha256)
  expect(key).toBe(sha256('{"args":{"body":"x","to":"a@b.com"},"method":"send","service":"mail"}'))
  expect(idempotencyKey({ name: 'mail.send' }, { body: 'x', to: 'a@b.com' }, sha256)).toBe(key)
})

test('idempotency key: other arguments, another tool or a salt make another key', () => {
  const key = (name: string, args: Json) => idempotencyKey({ name }, args, sha256)
  const first = key('mail.send', { to: 'a' })
  const all = [
    first,
    key('mail.send', { to: 'b' }),
    key('mail.drop', { to: 'a' }),
    saltedKey(first, 'int_1', sha256),
    saltedKey(first, 'int_2', sha256),
  ]
  expect(new Set(all).size).toBe(all.length)
})

test('idempotency key: a key function decides whether two calls of its tool are the same action', () => {
  const refund = (args: Json) => idempotencyKey(keyed('payments.refund'), args, sha256)
  expect(refund({ order: '42', note: 'a' })).toBe(refund({ order: '42', note: 'b' }))
  expect(refund({ order: '43', note: 'a' })).not.toBe(refund({ order: '42', note: 'a' }))
  expect(idempotencyKey(keyed('payments.charge'), { order: '42' }, sha256)).not.toBe(refund({ order: '42' }))
})
