import { describe, expect, test } from 'vitest'
import { createLeases, type HeldRun } from '../../../src/adapters/postgres/leases.ts'
import { createTestClock } from '../../../src/adapters/system/testing.ts'

const lease_ms = 1_000

/** Leases on a database that answers when, and with what, the test says. */
function setUp() {
  const hand = createTestClock()
  const asked: { readonly runs: readonly HeldRun[]; readonly answer: PromiseWithResolvers<readonly HeldRun[]> }[] = []
  const renew = (runs: readonly HeldRun[]) => {
    const answer = Promise.withResolvers<readonly HeldRun[]>()
    asked.push({ runs: [...runs], answer })
    return answer.promise
  }
  return { hand, asked, leases: createLeases(renew, lease_ms, hand.clock, hand.timers) }
}

const names = (runs: readonly HeldRun[] | undefined) => runs?.map(({ run_id, epoch }) => `${run_id} ${epoch}`)

test('leases: a lease that is not renewed ends after its time, and says so', async () => {
  const { hand, leases } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  await hand.advance(lease_ms - 1)
  expect([lease.isValid(), lease.signal.aborted]).toEqual([true, false])
  await hand.advance(1)
  expect(lease.signal.aborted).toBe(true)
  expect(lease.isValid()).toBe(false)
})

test('leases: the time that taking the run took is gone from the lease', async () => {
  const { hand, leases } = setUp()
  const since = leases.instant()
  await hand.advance(lease_ms - 10)
  const lease = leases.hold('run_1', 1, since)
  await hand.advance(9)
  expect(lease.isValid()).toBe(true)
  await hand.advance(1)
  expect(lease.isValid()).toBe(false)
  expect(leases.hold('run_2', 1, since).isValid()).toBe(false)
})

test('leases: a renewal counts from when it was sent, even if its answer comes late', async () => {
  const { hand, leases, asked } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  await hand.advance(300)
  const renewal = leases.renew()
  expect(names(asked[0]?.runs)).toEqual(['run_1 1'])
  await hand.advance(600)
  asked[0]?.answer.resolve([{ run_id: 'run_1', epoch: 1 }])
  await renewal
  await hand.advance(399)
  expect(lease.isValid()).toBe(true)
  await hand.advance(1)
  expect(lease.isValid()).toBe(false)
})

test('leases: an answer that comes after the lease has ended does not bring it back', async () => {
  const { hand, leases, asked } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  const renewal = leases.renew()
  await hand.advance(lease_ms)
  asked[0]?.answer.resolve([{ run_id: 'run_1', epoch: 1 }])
  await renewal
  expect(lease.isValid()).toBe(false)
  void leases.renew()
  expect(names(asked[1]?.runs)).toEqual([])
})

test('leases: an expired lease loses only its own run', async () => {
  const { hand, leases, asked } = setUp()
  const [lost, kept] = [leases.hold('run_1', 3, leases.instant()), leases.hold('run_2', 1, leases.instant())]
  const renewal = leases.renew()
  // Taken while the answer is on its way: the answer says nothing about it.
  const fresh = leases.hold('run_3', 1, leases.instant())
  asked[0]?.answer.resolve([
    { run_id: 'run_1', epoch: 4 },
    { run_id: 'run_2', epoch: 1 },
  ])
  await renewal
  expect([lost, kept, fresh].map((lease) => lease.isValid())).toEqual([false, true, true])
  await hand.advance(lease_ms - 1)
  expect(kept.signal.aborted).toBe(false)
})

test('leases: a database that does not answer ends every lease in time, and no earlier', async () => {
  const { hand, leases, asked } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  const renewal = leases.renew()
  asked[0]?.answer.reject(new Error('the connection was lost'))
  await expect(renewal).rejects.toThrow('the connection was lost')
  expect(lease.isValid()).toBe(true)
  await hand.advance(lease_ms)
  expect(lease.signal.aborted).toBe(true)
})

test('leases: a released lease is not renewed, and does not abort', async () => {
  const { hand, leases, asked } = setUp()
  const lease = leases.hold('run_1', 1, leases.instant())
  lease.release()
  void leases.renew()
  expect(names(asked[0]?.runs)).toEqual([])
  await hand.advance(lease_ms * 2)
  expect(lease.signal.aborted).toBe(false)
})

describe('leases: a process that was stopped', () => {
  test('finds its lease expired before any timer fires', () => {
    let monotonic = 0
    const clock = { monotonic: () => monotonic, now: () => 1_000_000 }
    const leases = createLeases(async () => [], lease_ms, clock, { after: () => () => {} })
    const lease = leases.hold('run_1', 1, leases.instant())
    monotonic = lease_ms
    expect(lease.isValid()).toBe(false)
    expect(lease.signal.aborted).toBe(true)
  })

  test('on a machine that slept, whose monotonic clock stood still, finds it expired, too', () => {
    let now = 1_000_000
    const clock = { monotonic: () => 0, now: () => now }
    const leases = createLeases(async () => [], lease_ms, clock, { after: () => () => {} })
    const lease = leases.hold('run_1', 1, leases.instant())
    now += lease_ms
    expect(lease.isValid()).toBe(false)
  })
})
