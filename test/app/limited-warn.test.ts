import { expect, test } from 'vitest'
import { limitedWarn } from '../../src/app/limited-warn.ts'

test('F-103, F-111 warnings: at most five of a kind are told in a minute, and the next one counts the others', () => {
  let now = 0
  const told: [string, object][] = []
  const warn = limitedWarn(
    (message, details) => told.push([message, details]),
    () => now,
  )
  for (let i = 0; i < 1_000; i++) warn('the queue reports a problem', { i })
  warn('another', { i: 0 })
  expect(told).toHaveLength(6)
  now = 60_000
  warn('the queue reports a problem', { i: 1_000 })
  expect(told.at(-1)).toEqual(['the queue reports a problem', { i: 1_000, left_out: 995 }])
})
