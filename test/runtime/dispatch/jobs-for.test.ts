import { describe, expect, test } from 'vitest'
import type { Machine } from '../../../src/kernel/machine.ts'
import { interactionMachine } from '../../../src/machines/interaction.ts'
import { runMachine } from '../../../src/machines/run.ts'
import { sessionMachine } from '../../../src/machines/session.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { jobsFor } from '../../../src/runtime/dispatch/jobs-for.ts'
import { move, opening } from '../../support/drafts.ts'

const session_id = 'ses_1'
const recorded = (...drafts: object[]) => drafts.map((draft) => ({ session_id, ...draft })) as unknown as Rune[]

/** Every move that a machine declares and that writes a rune. */
const moves = ({ name, transitions }: Machine) =>
  transitions
    .filter(({ rune, carried }) => rune !== null && carried !== true)
    .map(({ from, on, to }) => ({ name, from, on, to, title: `${name}: ${from} on ${on} to ${to}` }))

const wake = { task: 'run', key: 'run_1', payload: { session_id, run_id: 'run_1' } }
const look = { task: 'session', key: session_id, payload: { session_id } }

describe('jobs: runs', () => {
  test('a submitted run is woken', () => {
    expect(jobsFor(recorded(opening('run', 'run_1')))).toEqual({ add: [wake], remove: [] })
  })

  test.each(moves(runMachine))('$title', ({ from, on, to }) => {
    const jobs = jobsFor(recorded(move('run', 'run_1', [from, on])))
    const isOver = (runMachine as Machine).states[to]?.terminal === true
    // A request of a run does not queue it: it is queued already, or someone holds it.
    const expected = on === 'request' ? [] : to === 'queued' ? [wake] : isOver ? [look] : []
    expect(jobs).toEqual({ add: expected, remove: [] })
  })
})

test('jobs: the end of a run wakes no worker for a session without other work', () => {
  const ended = recorded(move('run', 'run_1', ['running', 'turn.succeeded']))
  expect(jobsFor(ended).add).toEqual([look])
  expect(jobsFor(ended, new Set([session_id])).add).toEqual([])
})

describe('jobs: deadlines', () => {
  test('a question with a deadline comes back when it is over; one without never does', () => {
    const withDeadline = recorded(opening('interaction', 'int_1', { deadline: 42 }))
    const payload = { session_id, interaction_id: 'int_1' }
    expect(jobsFor(withDeadline).add).toEqual([{ task: 'deadline', key: 'int_1', payload, run_at: 42 }])
    expect(jobsFor(recorded(opening('interaction', 'int_2', { deadline: null })))).toEqual({ add: [], remove: [] })
  })

  test.each(moves(interactionMachine))('$title', ({ from, on }) => {
    expect(jobsFor(recorded(move('interaction', 'int_1', [from, on])))).toEqual({ add: [], remove: ['int_1'] })
  })

  test('a question that is opened and closed in one transaction leaves no job', () => {
    const both = recorded(
      opening('interaction', 'int_1', { deadline: 42 }),
      move('interaction', 'int_1', ['open', 'withdraw']),
    )
    expect(jobsFor(both)).toEqual({ add: [], remove: ['int_1'] })
  })
})

describe('jobs: sessions', () => {
  test.each(moves(sessionMachine))('$title', ({ from, on, to }) => {
    const holdsBackNoMore = (to === 'active' && from !== 'created') || to === 'closing'
    expect(jobsFor(recorded(move('session', session_id, [from, on]))).add).toEqual(holdsBackNoMore ? [look] : [])
  })
})

test('jobs for: of several runes about one subject the last decides, and jobs come in the order of their keys', () => {
  const runes = recorded(
    opening('run', 'run_2'),
    opening('run', 'run_1'),
    move('run', 'run_2', ['queued', 'run.canceled']),
    move('run', 'run_1', ['queued', 'turn.started']),
    move('run', 'run_1', ['running', 'restart.requeued']),
  )
  expect(jobsFor(runes).add.map(({ key }) => key)).toEqual(['run_1', 'run_2', 'ses_1'])
})
