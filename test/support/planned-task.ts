import type { PlannedTask } from '../../src/observation/goal-state.ts'

/** A task of a plan that a worker does, with nothing before it. */
export function plannedTask(task_id: string, more: Partial<PlannedTask> = {}): PlannedTask {
  return {
    task_id,
    key: task_id,
    kind: 'work',
    title: task_id,
    description: '',
    priority: 'medium',
    owner: 'worker',
    depends_on: [],
    needs: [],
    condition: null,
    instead_of: null,
    command_id: null,
    tools: [],
    retries: null,
    ...more,
  }
}
