import { expect, test } from 'vitest'
import { gatesOf } from '../../../src/autonomy/goals/schedule.ts'
import type { PlannedTask } from '../../../src/observation/goal-state.ts'

function planned(task_id: string, more: Partial<PlannedTask> = {}): { planned: PlannedTask } {
  const usual = { title: task_id, description: '', priority: 'medium', owner: 'worker', tools: [] } as const
  const bound = { depends_on: more.needs ?? [], needs: [], condition: null, instead_of: null, retries: null }
  return { planned: { ...usual, ...bound, task_id, key: task_id, kind: 'work', command_id: null, ...more } }
}

test('F-41 gates: the gate of a reviewed task is not that of its stand-in, which would wait for the task for ever', () => {
  const gate = planned('gate', { kind: 'review' })
  const refund = planned('refund', { needs: ['gate'] })
  const credit = planned('credit', { needs: ['gate'], instead_of: 'refund', condition: 'rule: true' })
  expect(gatesOf([gate, refund, credit]).behind('gate')).toBeUndefined()
  // A condition of the task itself is decided before its gate is asked.
  const conditional = planned('refund', { needs: ['gate'], condition: 'rule: true' })
  expect(gatesOf([gate, conditional, credit]).behind('gate')?.key).toBe('refund')
})
