import { type TaskState, taskMachine } from '../../machines/task.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'

/** What a task is to those who depend on it: done, never to be done, or still to come. */
export type Standing = 'met' | 'lost' | 'open'

/**
 * A dependency is met when the task completed, when the task that stands in for
 * it is, or when it was itself a stand-in that nobody needed.
 */
export function standings(
  tasks: readonly { readonly planned: PlannedTask }[],
  states: ReadonlyMap<string, TaskState>,
): (task_id: string) => Standing {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const standIns = new Map<string, string>()
  for (const { planned } of tasks) if (planned.instead_of !== null) standIns.set(planned.instead_of, planned.task_id)
  const known = new Map<string, Standing>()

  function standing(task_id: string): Standing {
    const remembered = known.get(task_id)
    if (remembered !== undefined) return remembered
    // Whoever stands in for itself, in however many steps, is met by nobody.
    known.set(task_id, 'lost')
    const found = look(task_id)
    known.set(task_id, found)
    return found
  }

  function look(task_id: string): Standing {
    const state = states.get(task_id)
    if (state === undefined) return 'lost'
    if (state === 'completed') return 'met'
    if (taskMachine.states[state].terminal !== true) return 'open'
    const primary = byId.get(task_id)?.instead_of ?? null
    if (primary !== null && states.get(primary) === 'completed') return 'met'
    const standIn = standIns.get(task_id)
    return standIn === undefined ? 'lost' : standing(standIn)
  }
  return standing
}
