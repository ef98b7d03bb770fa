import { expect, test } from 'vitest'
import { registryReason } from '../../scripts/registry-reason.ts'

test.each([
  ['npm error code ENOTFOUND\nnpm error network request to https://registry.npmjs.org/zod failed', 'code ENOTFOUND'],
  ['npm error code ECONNREFUSED\nnpm error errno ECONNREFUSED', 'code ECONNREFUSED'],
  ['npm error code ENOTCACHED', 'code ENOTCACHED'],
  ['npm ERR! code E503', 'code E503'],
  ['npm error code ETIMEDOUT', 'code ETIMEDOUT'],
])('registry reason: %j is an unreachable registry', (output, reason) => {
  expect(registryReason(output)).toBe(reason)
})

test.each(['npm error code E404\nnpm error 404 Not Found', 'npm error code ERESOLVE', 'npm error code EBADENGINE', ''])(
  'registry reason: %j is a problem of the package',
  (output) => {
    expect(registryReason(output)).toBeUndefined()
  },
)
