import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import { selectRows, subjects } from '../../../src/runelog/models.ts'
import type { ModelQuery, Range } from '../../../src/runelog/port.ts'
import { firstEventOf, genesis, runesOf } from '../../../src/runes/record.ts'
import { created, opening, plain } from '../../support/drafts.ts'
import { collect, fresh, type OpenStore, withSession } from './store.ts'

const delta = () => plain('turn.assistant_delta')

export function describeReading(open: OpenStore): void {
  describe('runelog: reading', () => {
    test('every range, forward and backward, is the slice it says it is', async () => {
      const { runelog, write } = await withSession(open)
      await write(delta(), delta(), delta())
      const all = await runelog.read('ses_1')
      const bounds = [undefined, 0, 1, 2, 3, 4, 5, 9]
      for (const after of bounds)
        for (const before of bounds)
          for (const limit of [undefined, 0, 1, 2, 9])
            for (const backward of [false, true]) {
              const range = Object.fromEntries(
                Object.entries({ after, before, limit, backward }).filter(([, value]) => value !== undefined),
              ) as Range
              const chosen = all.filter((r) => r.event_id > (after ?? 0) && r.event_id < (before ?? 99))
              if (backward) chosen.reverse()
              expect(await runelog.read('ses_1', range), JSON.stringify(range)).toEqual(chosen.slice(0, limit))
            }
    })

    test('there is one record per append, named by its last event, from any cursor', async () => {
      const { runelog, write } = await withSession(open)
      await write(delta(), delta(), delta())
      await write(delta())
      const all = await collect(runelog.records('ses_1'))
      expect(all.map((r) => r.event_id)).toEqual([1, 4, 5])
      expect(all.map(firstEventOf)).toEqual([1, 2, 5])
      expect(runesOf(all, genesis)).toEqual(await runelog.read('ses_1'))
      // A cursor within a record gives the whole record.
      for (const [after, from] of [
        [0, 0],
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 2],
        [5, 3],
      ] as const)
        expect(await collect(runelog.records('ses_1', after)), `after ${after}`).toEqual(all.slice(from))
      expect(await collect(runelog.records('ses_none'))).toEqual([])
    })

    test('rows come by tag, in order, page by page', async () => {
      const { runelog } = await fresh(open)
      for (let i = 0; i < 12; i++) {
        const session_id = `ses_${i}`
        const runes = [created(session_id), ...(i % 3 === 0 ? [opening('run', `run_${i}`)] : [])]
        accepted(await runelog.append({ session_id, runes: runes.map((rune) => ({ ...rune, at: 1000 + (i % 4) })) }))
      }
      const all = await runelog.rows(subjects)
      expect(all).toHaveLength(16)
      const query = fc.record(
        {
          tag: fc.constantFrom('session:created', 'run:queued', 'run:running'),
          prefix: fc.constantFrom('', 'ses_', 'ses_1', 'run_', 'run_9', 'x', '%'),
          after: fc.constantFrom(...all).map(({ sort, key }) => ({ sort, key })),
          limit: fc.integer({ min: 0, max: 20 }),
          backward: fc.boolean(),
        },
        { requiredKeys: [] },
      )
      await fc.assert(
        fc.asyncProperty(query, async (q) => {
          expect(await runelog.rows(subjects, q as ModelQuery)).toEqual(selectRows(all, q as ModelQuery))
        }),
        { numRuns: 60, seed: 7 },
      )
      expect(await runelog.row(subjects, 'run_3')).toEqual(all.find((row) => row.key === 'run_3'))
      expect(await runelog.row(subjects, 'run_1')).toBeUndefined()
    })
  })

  describe('runelog: following', () => {
    test('a follower gets the recorded runes, then each new one, and stops when told', async () => {
      const { runelog, write } = await withSession(open)
      await write(delta())
      const stop = new AbortController()
      const seen: number[] = []
      const following = (async () => {
        for await (const rune of runelog.follow('ses_1', 1, stop.signal)) {
          seen.push(rune.event_id)
          if (rune.event_id === 2) await write(delta(), delta())
          if (rune.event_id === 4) stop.abort()
        }
      })()
      await following
      expect(seen).toEqual([2, 3, 4])
    })

    test('a follower of a session that does not exist yet sees it from its first rune', async () => {
      const { runelog } = await fresh(open)
      const stop = new AbortController()
      const first = runelog.follow('ses_1', 0, stop.signal)[Symbol.asyncIterator]()
      const waiting = first.next()
      accepted(await runelog.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
      accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
      expect((await waiting).value).toMatchObject({ session_id: 'ses_1', event_id: 1 })
      const next = first.next()
      stop.abort()
      expect((await next).done).toBe(true)
    })

    test('followers that come and go miss nothing and see nothing twice', async () => {
      const total = 120
      const { runelog } = await withSession(open)
      const seed = 11
      const patience = fc.sample(fc.integer({ min: 1, max: 9 }), { numRuns: 200, seed })
      const follower = async (lane: number) => {
        const seen: number[] = []
        for (let visit = lane; seen.length < total + 1; visit++) {
          const stop = new AbortController()
          let left = patience[visit % patience.length] ?? 1
          for await (const rune of runelog.follow('ses_1', seen.at(-1) ?? 0, stop.signal)) {
            seen.push(rune.event_id)
            if (--left === 0 || seen.length === total + 1) stop.abort()
          }
        }
        return seen
      }
      const writer = async (lane: number) => {
        for (let i = lane; i < total; i += 4) accepted(await runelog.append({ session_id: 'ses_1', runes: [delta()] }))
      }
      const followers = [0, 1, 2, 3, 4].map(follower)
      await Promise.all([0, 1, 2, 3].map(writer))
      for (const seen of await Promise.all(followers))
        expect(seen).toEqual(Array.from({ length: total + 1 }, (_, i) => i + 1))
    })

    test('a watcher is told after the commit which sessions were written to', async () => {
      const { runelog, write } = await withSession(open)
      const told: string[] = []
      const stop = runelog.watch((ids) => told.push(...ids))
      await write(delta())
      await expect.poll(() => told).toEqual(['ses_1'])
      stop()
      await write(delta())
      await runelog.read('ses_1')
      expect(told).toEqual(['ses_1'])
    })
  })
}
