import { expect, test } from 'vitest'
import type { Connection } from '../../../src/adapters/postgres/connection.ts'
import { createReaders } from '../../../src/adapters/postgres/readers.ts'

/** Readers whose connections answer when they are told to. `log` has the number of the connection of each read. */
function slowReaders(connections: number, together = 3) {
  const log: number[] = []
  const ended: number[] = []
  const answers: PromiseWithResolvers<void>[] = []
  let opened = 0
  const readers = createReaders(
    async (): Promise<Connection> => {
      const number = ++opened
      return {
        async send() {
          log.push(number)
          const answer = Promise.withResolvers<void>()
          answers.push(answer)
          await answer.promise
          return []
        },
        text: async () => [],
        commit: async () => true,
        isOpen: () => !ended.includes(number),
        ended: new Promise(() => {}),
        async end() {
          ended.push(number)
        },
      }
    },
    { connections, together },
  )
  return { log, ended, answers, end: readers.end, read: () => readers.read((connection) => connection.send('head')) }
}

const nextTurn = () => new Promise(setImmediate)

test('readers: reads of one turn share a connection, and the next turn takes a free one', async () => {
  const { log, answers, read } = slowReaders(2)
  const first = [read(), read(), read()]
  await nextTurn()
  expect(log).toEqual([1, 1, 1])
  const second = [read(), read()]
  await nextTurn()
  expect(log).toEqual([1, 1, 1, 2, 2])
  for (const { resolve } of answers.splice(0, 3)) resolve()
  await Promise.all(first)
  const third = read()
  await nextTurn()
  expect(log.at(-1)).toBe(1)
  for (const { resolve } of answers) resolve()
  await Promise.all([...second, third])
})

test('readers: when one connection is lost, all are given up, and the next read opens a new one', async () => {
  const { log, ended, answers, read } = slowReaders(2)
  const reads = [read()]
  await nextTurn()
  reads.push(read())
  await nextTurn()
  expect(log).toEqual([1, 2])
  answers[0]?.reject(new Error('Connection terminated unexpectedly'))
  await expect(reads[0]).rejects.toThrow('terminated')
  await nextTurn()
  expect(ended).toEqual([1, 2])
  const again = read()
  await nextTurn()
  expect(log).toEqual([1, 2, 3])
  for (const { resolve } of answers) resolve()
  await Promise.all([reads[1], again])
})

test('readers: no connection has more unanswered reads than the limit, and the rest wait for as long as it takes', async () => {
  const { log, answers, read } = slowReaders(2, 2)
  const reads = Array.from({ length: 5 }, read)
  await nextTurn()
  expect(log).toEqual([1, 1, 2, 2])
  for (const { resolve } of answers.splice(2)) resolve()
  await nextTurn()
  expect(log).toEqual([1, 1, 2, 2, 2])
  for (const { resolve } of answers) resolve()
  await Promise.all(reads)
})

test('readers: a read that waits when they end opens no connection', async () => {
  const { log, ended, answers, read, end } = slowReaders(1, 1)
  const reads = [read(), read()]
  await nextTurn()
  await end()
  answers[0]?.resolve()
  await expect(reads[1]).rejects.toThrow('closed')
  expect([log, ended]).toEqual([[1], [1]])
  await reads[0]
})
