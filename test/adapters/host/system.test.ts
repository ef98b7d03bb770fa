import { expect, test, vi } from 'vitest'
import { createIds, hostPorts, systemClock, systemTimers } from '../../../src/adapters/host/ports.ts'

test('system: a timer longer than setTimeout can hold fires when it is due, not at once', () => {
  vi.useFakeTimers()
  try {
    const days = 24 * 60 * 60 * 1000
    const fired = vi.fn()
    systemTimers.after(60 * days, fired)
    vi.advanceTimersByTime(59 * days)
    expect(fired).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1 * days)
    expect(fired).toHaveBeenCalledTimes(1)

    const cancelled = vi.fn()
    const cancel = systemTimers.after(60 * days, cancelled)
    vi.advanceTimersByTime(30 * days)
    cancel()
    vi.advanceTimersByTime(60 * days)
    expect(cancelled).not.toHaveBeenCalled()
  } finally {
    vi.useRealTimers()
  }
})

test('system: an id is its prefix, its time and twelve digits of chance, and no two are the same', () => {
  const ids = createIds(hostPorts.random, hostPorts.now)
  const names = Array.from({ length: 2000 }, () => ids.next('exe'))
  for (const name of names) expect(name).toMatch(/^exe_[0-9a-f]{23}$/)
  expect(new Set(names).size).toBe(names.length)
})

test('system: the clock counts milliseconds since 1970, and its monotonic side does not go back', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
  const first = systemClock.monotonic()
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first)
})
