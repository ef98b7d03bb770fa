import type { PlannedTask } from '../../observation/goal-state.ts'

/** How the tasks of a plan and their gates belong together. */
export interface Gates {
  /** The task with a condition that this review is the gate of. Undefined: its task has no condition, or it has no task. */
  behind(gate_id: string): PlannedTask | undefined
  /** These tasks, and instead of a gate what stands before the gate. */
  through(task_ids: readonly string[], field: 'depends_on' | 'needs'): readonly string[]
}

/**
 * The gate of a task is the review that its plan puts before this task alone. A task with a condition decides whether its
 * gate is asked at all. Plans of earlier versions have the condition at the gate; such a gate stands for itself.
 */
export function gatesOf(tasks: readonly { readonly planned: PlannedTask }[]): Gates {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const isGate = (task_id: string) => {
    const found = byId.get(task_id)
    return found?.kind === 'review' && found.condition === null
  }
  /** A stand-in begins behind the gate of the task that it replaces; the gate stays that of the task. */
  const isInherited = ({ instead_of }: PlannedTask, gate_id: string) =>
    byId.get(instead_of ?? '')?.needs.includes(gate_id) === true
  const behind = new Map(
    tasks.flatMap(({ planned }) =>
      planned.condition === null
        ? []
        : planned.needs
            .filter((gate_id) => isGate(gate_id) && !isInherited(planned, gate_id))
            .map((gate_id) => [gate_id, planned] as const),
    ),
  )
  return {
    behind: (gate_id) => behind.get(gate_id),
    through: (task_ids, field) =>
      task_ids.flatMap((task_id) => (behind.has(task_id) ? (byId.get(task_id)?.[field] ?? []) : [task_id])),
  }
}
