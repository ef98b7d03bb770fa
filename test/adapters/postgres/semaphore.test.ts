import { expect, test } from 'vitest'
import { createSemaphore } from '../../../src/adapters/postgres/connection.ts'
import { drained } from '../../../src/adapters/system/testing.ts'

test('semaphore: it limits the tasks at once, and starts the others in order, also after a failure', async () => {
  const turn = createSemaphore(2)
  const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>())
  const begun: number[] = []
  const told = ends.map((end, n) =>
    turn(() => {
      begun.push(n)
      return end.promise
    }),
  )
  expect(begun).toEqual([0, 1])
  ends[1]?.reject(new Error('broken'))
  await expect(told[1]).rejects.toThrow('broken')
  await drained()
  expect(begun).toEqual([0, 1, 2])
  ends[0]?.resolve(0)
  await drained()
  expect(begun).toEqual([0, 1, 2, 3])
  for (const n of [2, 3]) ends[n]?.resolve(n)
  expect(await Promise.all([told[0], told[2], told[3]])).toEqual([0, 2, 3])
  // AND the places are free again
  let isAtOnce = false
  void turn(async () => {
    isAtOnce = true
  })
  expect(isAtOnce).toBe(true)
})
