import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wanted } from '../../src/runelog/read-range.ts'

/** Records as pairs of their first and last event, in order. */
const logs = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }).map((sizes) => {
  let last = 0
  return sizes.map((size) => {
    last += size
    return [last - size + 1, last] as const
  })
})

test('runelog: of a page, only the records that a reader wants are read', () => {
  fc.assert(
    fc.property(logs, fc.nat(300), fc.integer({ min: 1, max: 60 }), fc.boolean(), (log, at, runes, backward) => {
      const end = log.at(-1)?.[1] ?? 0
      const [low, high] = backward ? [0, at + 1] : [at, end + 1]
      const page = log.filter(([first, last]) => last > low && first < high)
      if (backward) page.reverse()
      const chosen = wanted(page, ([, last]) => last, { low, high, runes, backward })
      const top = Math.min(at, end)
      const [from, to] = backward ? [top - runes + 1, top] : [low + 1, low + runes]
      expect(chosen).toEqual(page.filter(([first, last]) => last >= from && first <= to))
    }),
  )
})
