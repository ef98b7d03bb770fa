import { expect, test } from 'vitest'
import type { Recorded } from '../../src/observation/sequence.ts'
import { opening } from './drafts.ts'
import { perform } from './scenario.ts'

const created: Recorded = { ...opening('session', 's1'), session_id: 's1' }

test('scenario: a play that asserts nothing fails', async () => {
  // The failure is awaited first: an `expect` around the running play would count as its assertion.
  const failures = [await perform(() => {}).catch(String), await perform(async () => {}).catch(String)]
  expect(failures).toEqual(Array(2).fill('Error: The scenario asserted nothing.'))
})

test('scenario: a play that asserts passes, and one whose assertion fails, fails', async () => {
  await perform(() => expect(1).toBe(1))
  await expect(perform(() => expect(1).toBe(2))).rejects.toThrow('expected 1 to be 2')
})

test('scenario: a recorded log is read at the end and judged', async () => {
  const log: Recorded[] = []
  const play = perform(({ record }) => {
    record(() => log)
    log.push(created, created)
    expect(log).toHaveLength(2)
  })
  await expect(play).rejects.toThrow('session s1 was opened before')
})

test('scenario: a recorded log without runes fails, since it would prove nothing', async () => {
  const play = perform(({ record }) => {
    record([])
    expect(true).toBe(true)
  })
  await expect(play).rejects.toThrow('holds no runes')
})

test('scenario: a log may be an array, a promise of one, or a stream', async () => {
  async function* stream() {
    yield created
  }
  await perform(({ record }) => {
    record([created])
    record(async () => [created])
    record(stream)
    expect(true).toBe(true)
  })
})
