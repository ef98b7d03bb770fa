import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import type { Range } from '../../../src/runelog/port.ts'
import { genesis, runesOf } from '../../../src/runes/record.ts'
import { closed, created, opening, plain } from '../../support/drafts.ts'
import { collect, fresh, type OpenStore } from './store.ts'

interface Log {
  /** The number of runes of each commit. */
  readonly sizes: readonly number[]
  readonly isArchived: boolean
  /** The places of the runes that are redacted at the end, as shares of the log. */
  readonly redacted: readonly number[]
}

const share = fc.double({ min: 0, max: 1, noNaN: true })
const logs: fc.Arbitrary<Log> = fc.record({
  sizes: fc.oneof(
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
    // More commits than a store reads at once.
    fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 60, maxLength: 140 }),
  ),
  isArchived: fc.boolean(),
  redacted: fc.array(share, { maxLength: 3 }),
})

/** A place in a log of any length: at its ends, near them, beyond them, and anywhere between. */
const place = fc.tuple(fc.oneof(fc.constantFrom(0, 1), share), fc.integer({ min: -3, max: 3 }))
const asked = { after: place, before: place, limit: place, backward: fc.boolean() }
/** The end of a log: runes that were recorded after an archiving are read without the archived ones. */
const atEnd = [1, 2, 3].map((limit) => ({ limit: [0, limit] as const, backward: true }))
const ranges = fc.array(fc.record(asked, { requiredKeys: [] }), { minLength: 40, maxLength: 40 })

export function describeRanges(open: OpenStore): void {
  describe('runelog: ranges', () => {
    test('every range of a random log is the slice of the whole log, also where commits are long, archived or redacted', async () => {
      const { runelog } = await fresh(open)
      let count = 0

      async function written({ sizes, isArchived, redacted }: Log) {
        const session_id = `ses_${++count}`
        const runes = [created(session_id)]
        const batches = sizes.map((size, i) =>
          Array.from({ length: size }, (_, j) =>
            (i + j) % 3 === 1
              ? opening('interaction', `int_${count}.${i}.${j}`, { prompt: `${'x'.repeat(40 * (j % 7))}?` })
              : plain('turn.assistant_delta'),
          ),
        )
        if (isArchived) batches.push([...closed(session_id)])
        // Appends that arrive together may share a transaction; each is a commit of the log all the same.
        const appends = [runes, ...batches].map((batch) => runelog.append({ session_id, runes: batch }))
        const recorded = (await Promise.all(appends)).flatMap((runes) => accepted(runes))
        if (isArchived) await runelog.archive(session_id)
        expect((await runelog.read(session_id)).slice(0, recorded.length)).toEqual(recorded)
        const targets = recorded.filter(({ kind }) => kind === 'interaction.opened')
        for (const at of new Set(redacted.map((share) => targets[Math.floor(share * (targets.length - 1))])))
          if (at !== undefined) await runelog.redact(session_id, at.event_id, 'asked to')
        return session_id
      }

      await fc.assert(
        fc.asyncProperty(logs, ranges, async (log, chosen) => {
          const session_id = await written(log)
          const records = await collect(runelog.records(session_id))
          const whole = runesOf(records, genesis)
          expect(await runelog.read(session_id)).toEqual(whole)
          const exact = (at: readonly [share: number, offset: number] | undefined) =>
            at === undefined ? undefined : Math.round(at[0] * whole.length) + at[1]
          for (const { after, before, limit: most, backward } of [...chosen, ...atEnd] as typeof chosen) {
            const atMost = exact(most)
            const limit = atMost === undefined ? undefined : Math.max(0, atMost)
            const bounds = { after: exact(after), before: exact(before), limit, backward }
            const range: Range = Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined))
            const { after: low = 0, before: high = Number.POSITIVE_INFINITY } = range
            const inside = whole.filter(({ event_id }) => event_id > low && event_id < high)
            const slice = (backward ? inside.toReversed() : inside).slice(0, limit)
            expect(await runelog.read(session_id, range), JSON.stringify(range)).toEqual(slice)
            const later = records.filter(({ event_id }) => event_id > low)
            expect(await collect(runelog.records(session_id, low)), `records after ${low}`).toEqual(later)
          }
        }),
        { numRuns: 24, seed: 17 },
      )
    })
  })
}
