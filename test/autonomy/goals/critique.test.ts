import { describe, expect, test } from 'vitest'
import {
  failuresOf,
  notesFor,
  notesForReplan,
  publicProblems,
  readCritique,
  verdictOf,
} from '../../../src/autonomy/goals/critique.ts'
import { goalIds } from '../../../src/autonomy/goals/goal-context.ts'
import type { TaskState } from '../../../src/machines/task.ts'
import type { GoalView, PlannedTask, TaskView } from '../../../src/observation/goal-state.ts'
import { plannedTask } from '../../support/planned-task.ts'
import { sha256 } from '../../support/sha256.ts'

const ids = goalIds('goal_1', sha256)

function task(key: string, state: TaskState, more: Partial<PlannedTask> = {}): TaskView {
  const planned = plannedTask(`tsk_${key}`, { key, title: key, ...more })
  const rest = {
    condition: null,
    agent_id: null,
    run_ids: [],
    interaction_id: null,
    reason: 'so',
    result: null,
    evidence: [],
  }
  return { plan_id: 'pln_1', planned, state, ...rest }
}

function goalOf(...tasks: readonly TaskView[]): GoalView {
  return {
    goal_id: 'goal_1',
    goal_description: 'It',
    config: {},
    agent_id: 'agt_1',
    received_at: 0,
    state: 'reviewing',
    drafts: [],
    given: null,
    revise: null,
    plan: { plan_id: 'pln_1', tasks: [], interaction_id: null },
    tasks: [...tasks],
    added: 0,
    critiques: [],
    reason: null,
    cause: null,
    since: 0,
    ended_at: null,
  }
}

const titles = (goal: GoalView) => failuresOf(goal).map(({ title }) => title)
const critique = (...findings: readonly object[]) => JSON.stringify({ findings })
const read = (goal: GoalView, text: string) => {
  const result = readCritique(text, goal)
  if ('problem' in result) throw new Error(result.problem)
  return result
}

describe('critique: findings without a critic', () => {
  test('a failed task is one error, and the tasks skipped because of it add none', () => {
    const goal = goalOf(task('aa', 'failed'), task('bb', 'skipped', { depends_on: ['tsk_aa'] }))
    expect(titles(goal)).toEqual(['aa failed'])
  })

  test('a failed task whose stand-in completed is no error, and neither is a stand-in that was not needed', () => {
    const replaced = goalOf(task('aa', 'failed'), task('bb', 'completed', { instead_of: 'tsk_aa' }))
    expect(titles(replaced)).toEqual([])
    expect(titles(goalOf(task('aa', 'completed'), task('bb', 'skipped', { instead_of: 'tsk_aa' })))).toEqual([])
  })

  test('a task that was skipped although nothing failed is an error', () => {
    const stuck = goalOf(
      task('aa', 'skipped', { depends_on: ['tsk_bb'] }),
      task('bb', 'skipped', { depends_on: ['tsk_aa'] }),
    )
    expect(titles(stuck)).toEqual(['aa was skipped', 'bb was skipped'])
  })
})

describe('critique: verdict', () => {
  const goal = goalOf(
    task('aa', 'failed'),
    task('bb', 'skipped', { depends_on: ['tsk_aa'] }),
    task('cc', 'completed'),
    task('rr', 'failed', { kind: 'review', owner: null }),
  )

  test('errors about tasks become new tasks, and so do tasks that were skipped because of them', () => {
    const verdict = verdictOf(goal, read(goal, critique({ severity: 'error', title: 'No', task: 'aa' })), ids)
    if (verdict.verdict !== 'retry') throw new Error(verdict.verdict)
    const [again, behind] = verdict.tasks
    expect(verdict.tasks.map(({ key, retries }) => [key, retries])).toEqual([
      ['aa', 'tsk_aa'],
      ['bb', 'tsk_bb'],
    ])
    expect(behind?.depends_on).toEqual([again?.task_id])
  })

  test('F-38 critique: a retry is told the findings about its task, and public runes only how many there are', () => {
    const found = read(
      goal,
      critique(
        { severity: 'error', title: 'No', description: 'Not so', task: 'cc', suggested_fix: 'So' },
        { severity: 'info', title: 'Fine', task: 'cc' },
        { severity: 'error', title: 'Never', task: 'aa' },
      ),
    )
    const reviewed = { ...goal, critiques: [{ plan_id: 'pln_1', findings: found.findings }] }
    const again = task('cc', 'pending', { task_id: 'tsk_cc_2', retries: 'tsk_cc' }).planned
    expect(notesFor(reviewed, again)).toEqual(['No: Not so Suggested: So'])
    expect(notesFor(reviewed, { ...again, retries: null })).toEqual([])
    expect(notesForReplan(reviewed)).toEqual(['No: Not so Suggested: So', 'Never: '])
    const judged = { plan_id: 'pln_2', outcome: 'judged', failure: null, after_critiques: 1 } as const
    expect(notesForReplan({ ...reviewed, drafts: [judged] })).toEqual([])
    expect(publicProblems(goal, found)).toBe('aa failed: so; rr was refused: so; the critic found 2 errors')
    expect(publicProblems(goalOf(task('cc', 'completed')), { ...found, findings: [] })).toBe(
      'the critic found 0 errors',
    )
  })

  test('F-40 retries: a stand-in that is redone still stands in, and others depend on its newest attempt', () => {
    const before = goalOf(
      task('xx', 'completed'),
      task('aa', 'completed', { depends_on: ['tsk_xx'] }),
      task('bb', 'skipped', { depends_on: ['tsk_xx'], instead_of: 'tsk_aa' }),
    )
    const verdict = verdictOf(before, read(before, critique({ severity: 'error', title: 'No', task: 'xx' })), ids)
    if (verdict.verdict !== 'retry') throw new Error(verdict.verdict)
    const [xx, bb] = verdict.tasks
    expect(bb).toMatchObject({ key: 'bb', instead_of: 'tsk_aa', depends_on: [xx?.task_id] })
    const redone = goalOf(...before.tasks, task('xx', 'completed', { task_id: 'tsk_x2', retries: 'tsk_xx' }))
    const next = verdictOf(redone, read(redone, critique({ severity: 'error', title: 'No', task: 'aa' })), ids)
    expect(next).toMatchObject({ verdict: 'retry', tasks: [{ key: 'aa', depends_on: ['tsk_x2'] }, { key: 'bb' }] })
  })

  test('F-41 retries: tasks that were skipped with the stand-in of a failed task are looked at again with the task', () => {
    const before = goalOf(
      task('aa', 'failed'),
      task('bb', 'skipped', { instead_of: 'tsk_aa' }),
      task('cc', 'skipped', { depends_on: ['tsk_bb'], needs: ['tsk_bb'] }),
    )
    const verdict = verdictOf(before, read(before, critique({ severity: 'error', title: 'No', task: 'aa' })), ids)
    if (verdict.verdict !== 'retry') throw new Error(verdict.verdict)
    const [aa, bb, cc] = verdict.tasks
    expect(bb).toMatchObject({ key: 'bb', instead_of: aa?.task_id })
    expect(cc).toMatchObject({ key: 'cc', depends_on: [bb?.task_id], needs: [bb?.task_id] })
  })

  test('a review that was refused, or a finding about the whole, needs another plan', () => {
    for (const about of ['rr', null, 'nothing of that name'])
      expect(verdictOf(goal, read(goal, critique({ severity: 'error', title: 'No', task: about })), ids)).toMatchObject(
        {
          verdict: 'replan',
        },
      )
  })

  test('suggestions pass; a warning is followed once and not again', () => {
    const warned = critique({ severity: 'warning', title: 'Hm', task: 'cc' })
    expect(verdictOf(goal, read(goal, critique({ severity: 'suggestion', title: 'Hm', task: 'cc' })), ids)).toEqual({
      verdict: 'passed',
    })
    expect(verdictOf(goal, read(goal, warned), ids).verdict).toBe('retry')
    const followed = goalOf(...goal.tasks, { ...task('cc', 'completed', { task_id: 'tsk_c2', retries: 'tsk_cc' }) })
    expect(verdictOf(followed, read(followed, warned), ids)).toEqual({ verdict: 'passed' })
  })

  test('an answer that is no critique is a problem and never a pass', () => {
    for (const text of ['', 'fine', '{"findings": [{"severity": "bad"}]}', '[]', '{}', '{"error": "x"}'])
      expect(readCritique(text, goal)).toHaveProperty('problem')
    expect(readCritique('{"finding": [{"severity": "error", "title": "It does not work."}]}', goal)).toMatchObject({
      problem: expect.stringContaining(
        '/finding: Unknown field "finding". Did you mean "findings"? Known fields: summary, needs_replan, findings',
      ),
    })
    expect(readCritique('{"findings": [], "errors": ["It does not work."]}', goal)).toHaveProperty('problem')
    expect(readCritique('Here it is:\n```json\n{"findings": []}\n```', goal)).toMatchObject({ findings: [] })
  })
})
