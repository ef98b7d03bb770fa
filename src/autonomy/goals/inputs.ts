import type { Json } from '../../kernel/json.ts'
import type { TaskState } from '../../machines/task.ts'
import type { PlannedTask, TaskView } from '../../observation/goal-state.ts'
import type { Schedule } from './schedule.ts'

/** What became of a task. The result of a task that did not complete is null. */
export interface Outcome {
  readonly state: TaskState
  readonly result: Json
  readonly reason: string | null
}

/** One task that another one builds on. */
export interface Input extends Outcome {
  readonly task: string
  /** The task that it replaced, by its key. */
  readonly instead_of: string | null
}

/**
 * What became of each task once these operations are recorded. A task and the one that depends on it may complete and
 * begin in the same append, so the view alone is one append behind.
 */
export function outcomesOf(tasks: readonly TaskView[], { ops, states }: Schedule): (task_id: string) => Outcome {
  const known = new Map(
    tasks.map(({ planned, state, result, reason }): [string, Outcome] => [
      planned.task_id,
      { state: states.get(planned.task_id) ?? state, result, reason },
    ]),
  )
  for (const op of ops) {
    const before = known.get(op.task_id)
    if (before === undefined) continue
    if (op.op === 'complete') known.set(op.task_id, { ...before, result: op.result })
    else if ('reason' in op) known.set(op.task_id, { ...before, reason: op.reason })
  }
  return (task_id) => known.get(task_id) ?? { state: 'cancelled', result: null, reason: null }
}

/**
 * The tasks that a task builds on: those it depends on, and behind a review those that the review depends on. A task
 * that failed is followed by its stand-in, and a stand-in that was not needed by the task that completed.
 */
export function inputsOf(
  tasks: readonly { readonly planned: PlannedTask }[],
  { depends_on }: PlannedTask,
  outcomeOf: (task_id: string) => Outcome,
): readonly Input[] {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const found = new Map<string, Input>()
  const seen = new Set<string>()
  const look = (task_id: string) => {
    const planned = byId.get(task_id)
    if (planned === undefined || seen.has(task_id)) return
    seen.add(task_id)
    if (planned.kind === 'review') {
      for (const before of planned.depends_on) look(before)
      return
    }
    const outcome = outcomeOf(task_id)
    const instead_of = planned.instead_of === null ? null : (byId.get(planned.instead_of)?.key ?? null)
    found.set(task_id, { task: planned.key, instead_of, ...outcome })
    if (outcome.state === 'completed') return
    if (planned.instead_of !== null && outcome.state === 'skipped') look(planned.instead_of)
    for (const other of byId.values()) if (other.instead_of === task_id) look(other.task_id)
  }
  for (const before of depends_on) look(before)
  return [...found.values()]
}
