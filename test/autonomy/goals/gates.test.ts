import { expect, test } from 'vitest'
import { gatesOf } from '../../../src/autonomy/goals/schedule.ts'
import type { PlannedTask } from '../../../src/observation/goal-state.ts'
import { plannedTask } from '../../support/planned-task.ts'

function planned(task_id: string, more: Partial<PlannedTask> = {}): { planned: PlannedTask } {
  return { planned: plannedTask(task_id, { depends_on: more.needs ?? [], ...more }) }
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
