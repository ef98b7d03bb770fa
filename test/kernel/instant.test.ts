import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readDay, readInstant } from '../../src/kernel/instant.ts'

const moment = fc.integer({ min: -62_000_000_000_000, max: 250_000_000_000_000 })

test('instant: days and moments agree with the calendar of the host, for every year of four digits', () => {
  fc.assert(
    fc.property(moment, (at) => {
      const text = new Date(at).toISOString()
      expect(readInstant(text)).toBe(at)
      expect(readDay(text.slice(0, 10))).toBe(Math.floor(at / 86_400_000))
    }),
    { seed: 8, numRuns: 2_000 },
  )
})

test('instant: there is a day for exactly the texts that name one', () => {
  for (let year = 1995; year <= 2005; year++)
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
        const at = new Date(`${text}T00:00:00Z`)
        const exists = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
        expect(readDay(text) !== undefined, text).toBe(exists)
      }
})
