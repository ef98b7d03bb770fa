import type { GoalView } from '../../observation/goal-state.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import type { Engine } from './engine.ts'

interface Places {
  readonly max_parallel: number
  readonly per_agent: Readonly<Record<string, number>>
}

/**
 * A goal says how many of its tasks are worked on at once, in all and by each
 * agent. The scheduler gives out no more; but a task that waited for a person goes on when the answer
 * comes, and its place may be taken by then. Undefined: there is no place, and
 * whoever drives the goal wakes the run again when one is free. What is
 * returned ends the time in which the run is being taken.
 */
export function takePlace({ taking, turnedAway }: Engine, state: SessionState, run: RunView): (() => void) | undefined {
  const goal = state.goals.size === 0 ? undefined : goalOf(state, run.run_id)
  if (goal === undefined) return () => {}
  const { max_parallel, per_agent = {} } = goal.config as unknown as Partial<Places>
  const owner = goal.tasks.find(({ run_ids }) => run_ids.at(-1) === run.run_id)?.planned.owner ?? ''
  const busy = goal.tasks.filter(({ run_ids }) => {
    const other = run_ids.at(-1) ?? ''
    return other !== run.run_id && (state.runs.get(other)?.status === 'running' || taking.has(other))
  })
  const alike = busy.filter(({ planned }) => planned.owner === owner)
  if (
    busy.length >= (max_parallel ?? Number.POSITIVE_INFINITY) ||
    alike.length >= (per_agent[owner] ?? Number.POSITIVE_INFINITY)
  ) {
    turnedAway.add(run.run_id)
    return undefined
  }
  taking.add(run.run_id)
  return () => taking.delete(run.run_id)
}

function goalOf(state: SessionState, run_id: string): GoalView | undefined {
  for (const goal of state.goals.values()) if (goal.tasks.some(({ run_ids }) => run_ids.at(-1) === run_id)) return goal
  return undefined
}
