import { worksFor } from '../observation/goal-state.ts'
import { obstacleTo } from '../observation/obstacle.ts'
import type { SessionState } from '../observation/session-state.ts'

/** What a command asks to be carried out: a run, a goal, or, with neither, everything in a session. */
export interface Asked {
  readonly session_id: string
  readonly run_id?: string
  readonly goal_id?: string
}

/** What a process that works for one command was asked for. It carries out nothing else of the store. */
export interface Assignment {
  add(asked: Asked): void
  isAsked(asked: Asked): boolean
  sessions(): readonly string[]
  /** The open runs of a session that may be taken: those that were asked for, and all that they need. */
  neededIn(state: SessionState): ReadonlySet<string>
}

/** An empty assignment. */
export function createAssignment(): Assignment {
  const all: Asked[] = []
  const isAsked = (asked: Asked) =>
    all.some(
      ({ session_id, run_id, goal_id }) =>
        session_id === asked.session_id && run_id === asked.run_id && goal_id === asked.goal_id,
    )

  function isNamed(state: SessionState, { run_id, agent_id }: { run_id: string; agent_id: string }): boolean {
    const { session_id } = state
    const isOfGoal = () =>
      [...state.goals.values()].some(
        (goal) => isAsked({ session_id, goal_id: goal.goal_id }) && worksFor(state, goal, agent_id),
      )
    return isAsked({ session_id, run_id }) || isAsked({ session_id }) || isOfGoal()
  }

  return {
    isAsked,
    add(asked) {
      if (!isAsked(asked)) all.push(asked)
    },
    sessions: () => [...new Set(all.map(({ session_id }) => session_id))],
    neededIn(state) {
      const open = [...state.openRuns.values()]
      const needed = new Set(open.filter((run) => isNamed(state, run)).map(({ run_id }) => run_id))
      for (let before = -1; before !== needed.size; ) {
        before = needed.size
        for (const run of open) {
          if (needed.has(run.parent_run_id ?? '')) needed.add(run.run_id)
          // The run that its agent works on first.
          const obstacle = run.status === 'queued' && needed.has(run.run_id) ? obstacleTo(state, run) : null
          if (obstacle?.what === 'run') needed.add(obstacle.id)
        }
      }
      return needed
    },
  }
}
