import { expect, test } from 'vitest'
import { leasesOfOneProcess } from '../../src/runtime/store.ts'

test('leases of one process: each lease has its own signal, so its listeners are freed with its run', () => {
  const leases = leasesOfOneProcess()
  const [one, other] = [leases.hold('run_1', 1, leases.instant()), leases.hold('run_2', 1, leases.instant())]
  expect(one.signal).not.toBe(other.signal)
})
