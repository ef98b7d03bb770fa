import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../src/kernel/json.ts'
import { type ChainedHeader, headerNames, headerText } from '../../src/runes/rune.ts'

test('chain: the text of a header is its canonical JSON, for all combinations of fields', () => {
  const value = fc.oneof(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,40}$/), fc.nat(), fc.constant(null))
  const reading = fc.record({ because: fc.string({ unit: 'grapheme' }), guard: fc.string(), holds: fc.boolean() })
  const flat = Object.fromEntries(headerNames.map((name) => [name, value]))
  const values: Record<string, fc.Arbitrary<unknown>> = { ...flat, guards: fc.array(reading) }
  const header = fc.record(values, { requiredKeys: ['actor'] })
  fc.assert(
    fc.property(header, (h) => {
      expect(headerText(h as unknown as ChainedHeader)).toBe(canonicalJson(h as Json))
    }),
    { seed: 1 },
  )
})
