import { expect, test } from 'vitest'
import { createTestClock } from '../../../src/adapters/system/testing.ts'

test('test clock: timers fire in the order in which they are due, and see their own moment', async () => {
  const { clock, timers, advance } = createTestClock(0)
  const seen: string[] = []
  timers.after(30, () => seen.push(`c at ${clock.now()}`))
  timers.after(10, () => seen.push(`a at ${clock.now()}`))
  timers.after(10, () => seen.push(`b at ${clock.now()}`))

  await advance(29)
  expect(seen).toEqual(['a at 10', 'b at 10'])
  await advance(1)
  expect(seen).toEqual(['a at 10', 'b at 10', 'c at 30'])
})

test('test clock: a timer that the callback of another timer sets still fires within the same advance', async () => {
  const { timers, advance, pending } = createTestClock(0)
  const seen: string[] = []
  timers.after(10, () => void Promise.resolve().then(() => timers.after(5, () => seen.push('later'))))

  await advance(20)
  expect(seen).toEqual(['later'])
  expect(pending()).toBe(0)
})

test('test clock: a cancelled timer does not fire', async () => {
  const { timers, advance } = createTestClock(0)
  const seen: string[] = []
  const cancel = timers.after(10, () => seen.push('fired'))
  cancel()
  await advance(100)
  expect(seen).toEqual([])
})
