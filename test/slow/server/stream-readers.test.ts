import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Runelog } from '../../../src/runelog/port.ts'
import { plain } from '../../support/drafts.ts'
import { eventually } from '../../support/eventually.ts'
import { isProof, seed } from '../../support/sampling.ts'
import { memory, openSession, path, session_id } from '../../support/session-on-air.ts'
import type { Heard } from '../../support/sse-client.ts'

/** A store that answers later, as one over a network does: readers come and go in the meantime. */
const farAway = (runelog: Runelog): Runelog => ({
  ...runelog,
  async read(...asked) {
    await setImmediate()
    const runes = await runelog.read(...asked)
    await setImmediate()
    return runes
  },
})

test('stream readers: readers that come and go while it is written each see everything once and in order', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('write' as const), many: fc.integer({ min: 1, max: 90 }) }),
    fc.record({ do: fc.constant('join' as const), runes: fc.boolean() }),
    fc.record({ do: fc.constant('tear' as const), who: fc.nat(20) }),
    fc.record({ do: fc.constant('turn' as const) }),
  )
  const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.boolean(), async (steps, isFar) => {
    const { write, read, runelog } = await openSession({}, isFar ? farAway : undefined)
    type Seen = { readonly path: string; readonly ids: string[]; reader: ReturnType<typeof read> }
    const all: Seen[] = []
    // Only a block that is complete moves the cursor; its earlier events come again.
    const keep = ({ ids, reader }: Seen) => {
      for (const { id } of reader.heard.splice(0)) if (id !== undefined) ids.push(id)
    }
    for (const step of steps) {
      if (step.do === 'write') await write(...Array.from({ length: step.many }, memory))
      else if (step.do === 'join') {
        const where = step.runes ? `${path}?runes=1` : path
        all.push({ path: where, ids: [], reader: read(where) })
      } else if (step.do === 'turn') await setImmediate()
      else {
        const seen = all[step.who % Math.max(1, all.length)]
        if (seen === undefined) continue
        seen.reader.socket.destroy()
        keep(seen)
        seen.reader = read(seen.path, Number(seen.ids.at(-1) ?? 0))
      }
    }
    const last = (await write(memory())).at(-1)?.event_id ?? 0
    const expected = (await runelog.read(session_id)).map((rune) => String(rune.event_id))
    for (const seen of all) {
      await seen.reader.upTo(last)
      keep(seen)
      expect(seen.ids).toEqual(expected)
      seen.reader.socket.destroy()
    }
  })
  await fc.assert(property, { seed, numRuns: isProof ? 2_000 : 25 })
})

test('streams: a reader that reads nothing is cut off at the limit and can resume; other readers are not affected', async () => {
  const { write, read, streams } = await openSession({ streamBytes: 64 * 1024 })
  const slow = read(`${path}?runes=1`)
  const quick = read(`${path}?runes=1`)
  for (const reader of [slow, quick]) await reader.upTo(1)
  slow.socket.pause()
  let last = 1
  for (let i = 0; i < 400 && streams.count() === 2; i++) {
    last = (await write(plain('turn.assistant_delta', { content: 'x'.repeat(60_000) }))).at(-1)?.event_id ?? 0
    await quick.upTo(last)
  }
  expect(streams.count()).toBe(1)
  slow.socket.resume()
  await slow.closed()
  const back = read(`${path}?runes=1`, Number(slow.cursors.at(-1)))
  await back.upTo(last)
  const ids = (heard: readonly Heard[]) => heard.flatMap(({ id }) => id ?? [])
  expect([...ids(slow.heard), ...ids(back.heard)]).toEqual(ids(quick.heard))
  expect(slow.heard.length).toBeLessThan(quick.heard.length)
})

test('stream readers: a reader of a long past that reads nothing is cut off after four heartbeats', async () => {
  const { write, read, streams, hand } = await openSession()
  for (let i = 0; i < 20; i++)
    await write(...Array.from({ length: 20 }, () => plain('turn.assistant_delta', { content: 'x'.repeat(50_000) })))
  const slow = read(`${path}?runes=1`)
  slow.socket.pause()
  await slow.until('the reader', () => streams.count() === 1)
  let beats = 0
  await eventually('its end', async () => {
    if (streams.count() === 0) return true
    beats += 1
    return hand.advance(15_000)
  })
  expect(beats).toBeGreaterThan(4)
})
