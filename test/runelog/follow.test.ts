import { expect, test } from 'vitest'
import { createBell, createTail, follow } from '../../src/runelog/follow.ts'
import type { Rune } from '../../src/runes/rune.ts'

const rune = (event_id: number) => ({ event_id }) as Rune

test('follow: the end of a session is kept while someone follows it, and forgotten when the last one leaves', async () => {
  // GIVEN two followers of a session, of which nothing is in the log yet
  const bell = createBell()
  const tail = createTail(bell.isAwaited)
  const reads: number[] = []
  const read = async (_: string, range?: { after?: number }) => {
    reads.push(range?.after ?? 0)
    return []
  }
  const leave = new AbortController()
  const [one, other] = [1, 2].map(() => follow({ read, bell, tail }, 'ses_1', 0, leave.signal))
  const heard = [one?.next(), other?.next()]
  await null

  // WHEN a commit adds to it, THEN both hear it without reading
  tail.add('ses_1', [rune(1), rune(2)])
  bell.ring(['ses_1'])
  expect(await Promise.all(heard)).toMatchObject([{ value: { event_id: 1 } }, { value: { event_id: 1 } }])
  expect(reads).toEqual([0, 0])

  // WHEN one leaves, THEN it is still there; WHEN the other one does, THEN it is not
  await one?.return()
  expect(tail.after('ses_1', 1)).toEqual([rune(2)])
  await other?.return()
  expect(tail.after('ses_1', 1)).toBeUndefined()
})

test('follow: a session that was just begun is read from memory, and few of those are kept', () => {
  const tail = createTail(() => false)
  tail.add('ses_1', [rune(1), rune(2)])
  tail.add('ses_1', [rune(3)])
  expect(tail.after('ses_1', 0)).toEqual([rune(1), rune(2), rune(3)])
  // Of one that was there before, only the log knows the beginning.
  tail.add('ses_old', [rune(7)])
  expect(tail.after('ses_old', 6)).toBeUndefined()
  // A long one, and the oldest of many, are for the log.
  tail.add(
    'ses_long',
    Array.from({ length: 100 }, (_, i) => rune(i + 1)),
  )
  expect(tail.after('ses_long', 0)).toBeUndefined()
  for (let n = 0; n < 256; n++) tail.add(`ses_new_${n}`, [rune(1)])
  expect(tail.after('ses_1', 0)).toBeUndefined()
  expect(tail.after('ses_new_0', 0)).toEqual([rune(1)])
})
