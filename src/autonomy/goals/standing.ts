import { type TaskState, taskMachine } from '../../machines/task.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'

/** What a task is to its dependents: done, never to be done, not taken because of a condition, or still to come. */
export type Standing = 'met' | 'lost' | 'void' | 'open'

/** A task as far as it matters to others. `holds` is what was decided about its condition; without a condition it is null. */
interface Placed {
  readonly planned: PlannedTask
  readonly holds: boolean | null
}

/**
 * A dependency is met when the task completed, when the task that stands in for it is, or when it was itself a stand-in
 * that was not needed. It is void when its condition does not hold, or when all that it needs is void. A gate that was
 * not asked because its task was skipped is void as well.
 */
export function standings(
  tasks: readonly Placed[],
  states: ReadonlyMap<string, TaskState>,
): (task_id: string) => Standing {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const refused = new Set(tasks.flatMap(({ planned, holds }) => (holds === false ? [planned.task_id] : [])))
  const gates = gatesOf(tasks)
  const standIns = new Map<string, string>()
  for (const { planned } of tasks) if (planned.instead_of !== null) standIns.set(planned.instead_of, planned.task_id)
  const known = new Map<string, Standing>()

  function standing(task_id: string): Standing {
    const remembered = known.get(task_id)
    if (remembered !== undefined) return remembered
    // A task that stands in for itself, in however many steps, is never met.
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
    const planned = byId.get(task_id)
    const primary = planned?.instead_of ?? null
    if (primary !== null && states.get(primary) === 'completed') return 'met'
    if (primary !== null && state === 'skipped' && standing(primary) === 'met') return 'met'
    if (state === 'skipped' && planned !== undefined && isVoid(planned)) return 'void'
    const standIn = standIns.get(task_id)
    const instead = standIn === undefined ? 'lost' : standing(standIn)
    // A stand-in that is not taken replaces nothing.
    return instead === 'void' ? 'lost' : instead
  }

  function isVoid({ task_id, depends_on, needs, instead_of }: PlannedTask): boolean {
    if (refused.has(task_id)) return true
    if (depends_on.some((id) => standing(id) === 'lost')) return false
    const behind = gates.behind(task_id)
    if (behind !== undefined && states.get(behind.task_id) === 'skipped') return true
    const needed = gates.through(needs, 'needs')
    if (needed.length > 0 && needed.every((id) => standing(id) === 'void')) return true
    return instead_of !== null && standing(instead_of) === 'void'
  }
  return standing
}

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
