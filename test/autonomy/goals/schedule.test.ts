import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RunFacts, schedule, type TaskFacts } from '../../../src/autonomy/goals/schedule.ts'
import { isTerminal } from '../../../src/kernel/machine.ts'
import { type TaskState, taskMachine } from '../../../src/machines/task.ts'
import type { PlannedTask, Priority } from '../../../src/observation/goal-state.ts'
import { plannedTask as planned } from '../../support/planned-task.ts'
import { seed } from '../../support/sampling.ts'

const facts = (task: PlannedTask, state: TaskState = 'pending', run: Partial<RunFacts> | null = null): TaskFacts => ({
  planned: task,
  state,
  run:
    run === null
      ? null
      : { status: 'running', result: null, error_code: null, message: null, is_unsettled: false, ...run },
  question: null,
  condition: null,
})

const limits = { max_parallel: 4, per_agent: {}, is_active: true }
const opsOf = (...args: Parameters<typeof schedule>) =>
  schedule(...args).ops.map((op) => `${op.op} ${op.task_id}${'reason' in op ? `: ${op.reason}` : ''}`)

describe('F-41 gates: a task with a condition and its review', () => {
  const decided = (holds: boolean | null) => ({ decided: { holds, reason: 'So.' }, asks: null })
  const review = { kind: 'review', owner: null } as const
  const behind = { depends_on: ['g'], needs: ['g'] }

  test('the condition is decided first, then the review is asked, then the task begins', () => {
    const gate = facts(planned('g', review))
    const task = {
      ...facts(planned('t', { ...behind, condition: 'It is so.' })),
      condition: { decided: null, asks: null },
    }
    expect(opsOf([gate, task], limits)).toEqual(['decide t'])
    expect(opsOf([gate, { ...task, condition: { decided: null, asks: 'person' } }], limits)).toEqual([])
    expect(opsOf([gate, { ...task, condition: decided(true) }], limits)).toEqual(['ask g'])
    expect(
      opsOf(
        [
          { ...gate, state: 'completed' },
          { ...task, condition: decided(true) },
        ],
        limits,
      ),
    ).toEqual(['assign t'])
  })

  test('a plan of an earlier version has its condition at the gate, and a task that is refused there does not begin', () => {
    const gate = facts(planned('g', { ...review, condition: 'It is so.' }))
    const task = facts(planned('t', behind))
    for (const holds of [false, null])
      expect(opsOf([{ ...gate, condition: decided(holds) }, task], limits)).toEqual([
        expect.stringMatching(/^skip g: Its condition/),
        expect.stringMatching(/^skip t: /),
      ])
    expect(opsOf([{ ...gate, condition: decided(true) }, task], limits)).toEqual(['ask g'])
  })
})

describe('schedule: tasks', () => {
  test('max parallel: urgent tasks begin first, then the oldest, and no more than there are places', () => {
    const ranks: Priority[] = ['low', 'medium', 'critical', 'medium', 'high']
    const tasks = ranks.map((priority, i) => facts(planned(`t${i}`, { priority })))
    expect(opsOf(tasks, limits)).toEqual(['assign t2', 'assign t4', 'assign t1', 'assign t3'])
    expect(opsOf(tasks, { ...limits, per_agent: { worker: 1 } })).toEqual(['assign t2'])
    expect(opsOf(tasks, { ...limits, is_active: false })).toEqual([])
  })

  test('a task that waits for a person has no place; a review needs none', () => {
    const tasks = [
      facts(planned('a'), 'blocked', { status: 'waiting_user' }),
      facts(planned('b'), 'running', { status: 'running' }),
      facts(planned('c')),
      facts(planned('d', { kind: 'review', owner: null })),
    ]
    expect(opsOf(tasks, { ...limits, max_parallel: 2 })).toEqual(['assign c', 'ask d'])
    expect(opsOf(tasks, { ...limits, max_parallel: 1 })).toEqual(['ask d'])
  })

  test('an unknown outcome blocks; settled, a new run goes on; any other failure fails', () => {
    const unknown = { status: 'failed' as const, error_code: 'OUTCOME_UNKNOWN', message: 'not known' }
    expect(opsOf([facts(planned('a'), 'running', unknown)], limits)).toEqual(['block a: not known'])
    expect(opsOf([facts(planned('a'), 'blocked', { ...unknown, is_unsettled: true })], limits)).toEqual([])
    expect(opsOf([facts(planned('a'), 'blocked', unknown)], limits)).toEqual(['resume a'])
    const broken = { status: 'failed' as const, error_code: 'X', message: 'broken' }
    expect(opsOf([facts(planned('a'), 'assigned', broken)], limits)).toEqual(['begin a', 'fail a: broken'])
  })

  test('dependents of a failed task are skipped, transitively; a stand-in begins and replaces it', () => {
    const tasks = [
      facts(planned('a'), 'failed'),
      facts(planned('b', { depends_on: ['a'] })),
      facts(planned('c', { depends_on: ['b'] })),
      facts(planned('d'), 'failed'),
      facts(planned('e', { instead_of: 'd' })),
      facts(planned('f', { depends_on: ['d'] })),
    ]
    expect(opsOf(tasks, limits)).toEqual([
      'skip b: It depends on a, which failed.',
      'skip c: It depends on b, which skipped.',
      'assign e',
    ])
    const later = tasks.map((task) => (task.planned.task_id === 'e' ? { ...task, state: 'completed' as const } : task))
    expect(opsOf(later, limits)).toContain('assign f')
    const chain = [
      facts(planned('d'), 'completed'),
      facts(planned('e', { instead_of: 'd' })),
      facts(planned('f', { instead_of: 'e' })),
    ]
    expect(opsOf(chain, limits)).toEqual([
      'skip e: It is not needed: d completed.',
      'skip f: It is not needed, and neither is e.',
    ])
    const unneeded = [facts(planned('d'), 'completed'), facts(planned('e', { instead_of: 'd' }))]
    expect(opsOf(unneeded, limits)).toEqual(['skip e: It is not needed: d completed.'])
  })
})

const shape = fc.array(
  fc.record({
    before: fc.array(fc.nat(), { maxLength: 4 }),
    priority: fc.constantFrom<Priority>('critical', 'high', 'medium', 'low'),
    owner: fc.constantFrom('worker', 'builder'),
    stands_in: fc.boolean(),
    ends: fc.constantFrom('succeeded', 'succeeded', 'failed', 'canceled', 'waits'),
    lasts: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 1, maxLength: 40 },
)

test('schedule: for random outcomes of runs, every task ends after its dependencies and within the limits', () => {
  fc.assert(
    fc.property(shape, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 3 }), (given, max_parallel, most) => {
      const replaced = new Set<number>()
      const tasks = given.map(({ before, priority, owner, stands_in }, i) => {
        const isStandIn = stands_in && i > 0 && !replaced.has(i - 1)
        if (isStandIn) replaced.add(i - 1)
        const depends_on = i === 0 ? [] : [...new Set(before.map((n) => `t${n % i}`))]
        return planned(`t${i}`, {
          priority,
          owner,
          depends_on: depends_on.filter((id) => !isStandIn || id !== `t${i - 1}`),
          instead_of: isStandIn ? `t${i - 1}` : null,
        })
      })
      const states = new Map<string, TaskState>(tasks.map(({ task_id }) => [task_id, 'pending']))
      const runs = new Map<string, Played>()
      for (let round = 0; round < 1_000; round++) {
        const now = tasks.map((task) => {
          const run = runs.get(task.task_id)
          return facts(task, states.get(task.task_id), run === undefined ? null : { status: run.status })
        })
        const { ops, states: next } = schedule(now, { max_parallel, per_agent: { builder: most }, is_active: true })
        for (const op of ops)
          if (op.op === 'assign') {
            const i = Number(op.task_id.slice(1))
            runs.set(op.task_id, { status: 'queued', left: given[i]?.lasts ?? 1 })
            for (const id of tasks[i]?.depends_on ?? [])
              expect(['completed', 'failed', 'skipped']).toContain(next.get(id))
          }
        for (const [id, state] of next) states.set(id, state)
        const active = tasks.filter(({ task_id }) => ['assigned', 'running'].includes(states.get(task_id) ?? ''))
        // A task that was answered goes on although its place may be taken; the engine takes its run when there is one.
        const fresh = active.filter(({ task_id }) => runs.get(task_id)?.answered !== true)
        expect(fresh.length).toBeLessThanOrEqual(max_parallel)
        expect(fresh.filter(({ owner }) => owner === 'builder').length).toBeLessThanOrEqual(most)
        if ([...states.values()].every((state) => isTerminal(taskMachine, state))) break
        advance(runs, given)
      }
      expect(
        [...states.values()].every((state) => isTerminal(taskMachine, state)),
        JSON.stringify([...states]),
      ).toBe(true)
      const isClean = given.every(({ ends }) => ends === 'succeeded')
      if (isClean) expect([...states.values()].every((s) => s === 'completed' || s === 'skipped')).toBe(true)
      for (const { task_id, instead_of } of tasks)
        if (isClean && instead_of === null) expect(states.get(task_id)).toBe('completed')
    }),
    { seed, numRuns: 300 },
  )
})

interface Played {
  status: RunFacts['status']
  left: number
  answered?: boolean
}

/** A round of time: queued runs start, running ones advance, and waiting ones are answered. */
function advance(runs: ReadonlyMap<string, Played>, given: readonly { ends: RunFacts['status'] | 'waits' }[]) {
  for (const [id, run] of runs) {
    const ends = given[Number(id.slice(1))]?.ends ?? 'succeeded'
    if (run.status === 'queued') run.status = 'running'
    else if (run.status === 'waiting_user') {
      run.status = 'queued'
      run.answered = true
    } else if (run.status === 'running' && --run.left <= 0)
      run.status = ends !== 'waits' ? ends : run.answered ? 'succeeded' : 'waiting_user'
  }
}
