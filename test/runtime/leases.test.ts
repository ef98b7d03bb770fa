import { expect, test } from 'vitest'
import { leasesOfOneProcess } from '../../src/runtime/store.ts'

test('two leases share no signal: what listens to one would be kept for as long as the other', () => {
  const leases = leasesOfOneProcess()
  const [one, other] = [leases.hold('run_1', 1, leases.instant()), leases.hold('run_2', 1, leases.instant())]
  expect(one.signal).not.toBe(other.signal)
})
