import { expect, test } from 'vitest'
import { createResuming } from '../../../src/adapters/postgres/resuming.ts'
import type { Rune } from '../../../src/runes/rune.ts'

const moved = (to: string) =>
  ({ kind: 'run.moved', session_id: 'ses_1', subject_id: 'run_1', to }) as Partial<Rune> as Rune
const parked = [{ session_id: 'ses_1', run_id: 'run_1' }]

function parkedHere() {
  const resuming = createResuming()
  resuming.note(moved('waiting_user'))
  expect(resuming.of(['ses_1'])).toEqual(parked)
  return resuming
}

test('resuming: a run that still waits when its worker looks stays noted for its answer', async () => {
  const resuming = parkedHere()
  for (const run of resuming.of(['ses_1'])) await resuming.take(run, async () => 'kept')
  expect(resuming.of(['ses_1'])).toEqual(parked)
  expect(resuming.of(['ses_2'])).toEqual([])
})

test('resuming: a run that is being taken is not taken a second time', async () => {
  const resuming = parkedHere()
  const { promise, resolve } = Promise.withResolvers<'kept'>()
  const taken = parked.map((run) => resuming.take(run, () => promise))
  expect(resuming.isTaking('run_1')).toBe(true)
  expect(resuming.of(['ses_1'])).toEqual([])
  resolve('kept')
  await Promise.all(taken)
  expect(resuming.of(['ses_1'])).toEqual(parked)
})

test('resuming: a run that moved on, here or with another worker, is forgotten', async () => {
  for (const to of ['running', 'cancelled']) {
    const resuming = parkedHere()
    resuming.note(moved('queued'))
    expect(resuming.of(['ses_1'])).toEqual(parked)
    resuming.note(moved(to))
    expect(resuming.of(['ses_1'])).toEqual([])
  }
  for (const work of [async () => 'seen', () => Promise.reject(new Error('the store is away'))]) {
    const resuming = parkedHere()
    for (const run of parked) await resuming.take(run, work).catch(() => {})
    expect(resuming.of(['ses_1'])).toEqual([])
  }
})
