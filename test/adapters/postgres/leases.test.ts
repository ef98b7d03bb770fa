import { describe, expect, test } from 'vitest'
import { heartBytes, heartMemory } from '../../../src/adapters/postgres/heartbeat.ts'
import { createLeases, type HeldRun } from '../../../src/adapters/postgres/leases.ts'
import { createTestClock } from '../../../src/adapters/system/testing.ts'

const lease_ms = 1_000

/** Leases on a heartbeat that the test makes. */
function setUp() {
  const hand = createTestClock()
  const heart = heartMemory(new SharedArrayBuffer(heartBytes))
  const instant = () => ({ monotonic: hand.clock.monotonic(), now: hand.clock.now() })
  const beat = (sent = instant()) => heart.renew(sent)
  const given: HeldRun[] = []
  const ended = (runs: readonly HeldRun[]) => void given.push(...runs.map(({ run_id, epoch }) => ({ run_id, epoch })))
  const leases = createLeases({ lease_ms, last: heart.last, clock: hand.clock, timers: hand.timers, ended })
  beat()
  return { hand, heart, beat, instant, given, leases }
}

test('leases: a lease that is not renewed ends after its time, and its run is given up', async () => {
  const { hand, leases, given } = setUp()
  const lease = leases.hold('run_1', 3, leases.instant())
  await hand.advance(lease_ms - 1)
  expect([lease.isValid(), lease.signal.aborted, given]).toEqual([true, false, []])
  await hand.advance(1)
  expect(lease.signal.aborted).toBe(true)
  expect(lease.isValid()).toBe(false)
  expect(given).toEqual([{ run_id: 'run_1', epoch: 3 }])
})

test('leases: a heartbeat renews every lease', async () => {
  const { hand, leases, beat } = setUp()
  const [one, other] = [leases.hold('run_1', 1, leases.instant()), leases.hold('run_2', 1, leases.instant())]
  for (let i = 0; i < 5; i++) {
    await hand.advance(lease_ms - 1)
    beat()
  }
  await hand.advance(lease_ms - 1)
  expect([one, other].map((lease) => lease.isValid())).toEqual([true, true])
  await hand.advance(1)
  expect([one, other].map((lease) => lease.signal.aborted)).toEqual([true, true])
})

test('leases: a renewal counts from when it was sent, even if its answer comes late', async () => {
  const { hand, leases, beat, instant } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  await hand.advance(300)
  const sent = instant()
  await hand.advance(600)
  beat(sent)
  await hand.advance(399)
  expect(lease.isValid()).toBe(true)
  await hand.advance(1)
  expect(lease.isValid()).toBe(false)
})

test('leases: a heartbeat after the end of a lease does not bring it back', async () => {
  const { hand, leases, beat } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  await hand.advance(lease_ms)
  beat()
  expect([lease.isValid(), leases.isAlive()]).toEqual([false, true])
  expect(leases.hold('run_2', 1, leases.instant()).isValid()).toBe(true)
})

test('leases: a worker that lost its runs loses those that it was taking, and holds those that it takes later', () => {
  const { heart, leases, beat, given } = setUp()
  const held = leases.hold('run_1', 1, leases.instant())
  const since = leases.instant()
  heart.lose()
  beat()
  expect(held.isValid()).toBe(false)
  expect(leases.hold('run_2', 1, since).signal.aborted).toBe(true)
  expect(leases.hold('run_3', 1, leases.instant()).isValid()).toBe(true)
  expect(given.map(({ run_id }) => run_id)).toEqual(['run_1', 'run_2'])
})

test('leases: a released lease does not abort, and is not given up', async () => {
  const { hand, leases, given } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  expect(leases.has({ run_id: 'run_1', epoch: 1 })).toBe(true)
  lease.release()
  expect(leases.has({ run_id: 'run_1', epoch: 1 })).toBe(false)
  await hand.advance(lease_ms * 2)
  expect([lease.signal.aborted, given]).toEqual([false, []])
})

describe('leases: a process that was stopped', () => {
  const still = { after: () => () => {} }
  const last = () => ({ monotonic: 0, now: 1_000_000, generation: 0 })

  test('finds its lease expired before any timer fires', () => {
    let monotonic = 0
    const clock = { monotonic: () => monotonic, now: () => 1_000_000 }
    const leases = createLeases({ lease_ms, last, clock, timers: still, ended: () => {} })
    const lease = leases.hold('run_1', 1, leases.instant())
    monotonic = lease_ms
    expect(lease.isValid()).toBe(false)
    expect(lease.signal.aborted).toBe(true)
  })

  test('on a machine that slept, whose monotonic clock stood still, finds it expired, too', () => {
    let now = 1_000_000
    const clock = { monotonic: () => 0, now: () => now }
    const leases = createLeases({ lease_ms, last, clock, timers: still, ended: () => {} })
    const lease = leases.hold('run_1', 1, leases.instant())
    now += lease_ms
    expect(lease.isValid()).toBe(false)
  })
})
