import { describe } from 'vitest'
import { describeKeeping, describeReopening } from './runelog/keeping.ts'
import { describeRaces } from './runelog/races.ts'
import { describeRanges } from './runelog/ranges.ts'
import { describeReading } from './runelog/reading.ts'
import { describeSearching } from './runelog/searching.ts'
import type { OpenStore } from './runelog/store.ts'
import { describeWriting } from './runelog/writing.ts'

/**
 * The contract of every store. `open` gives a new, empty one; the suite disposes
 * of it. A lasting store outlives its process, and can be opened again.
 */
export function describeRunelog(name: string, open: OpenStore, { lasting = true } = {}): void {
  describe(`the runelog in ${name}`, () => {
    describeWriting(open)
    describeRaces(open)
    describeReading(open)
    describeRanges(open)
    describeSearching(open)
    describeKeeping(open)
    if (lasting) describeReopening(open)
  })
}
