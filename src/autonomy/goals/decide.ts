import { isTerminal } from '../../kernel/machine.ts'
import { goalMachine } from '../../machines/goal.ts'
import { saySpent } from '../../observation/fold-spending.ts'
import { decideExecuting } from './decide-executing.ts'
import { decidePlanning, decideReceived } from './decide-planning.ts'
import { decideReviewing } from './decide-reviewing.ts'
import { type Desk, dismiss } from './desk.ts'
import { stopGoal } from './stop-goal.ts'

/**
 * Decides what comes next for a goal and writes it into the batch. It goes by
 * the record alone, so that it decides the same after a crash; an empty batch
 * means that there is nothing to do until something else happens.
 */
export function decide(desk: Desk) {
  const { goal } = desk
  if (isTerminal(goalMachine, desk.goal.state)) return tidy(desk)
  const spent = spentOf(desk)
  if (spent !== undefined) return stopGoal(desk, 'budget', spent, 'policy')
  switch (goal.state) {
    case 'goal_received':
      return decideReceived(desk)
    case 'planning':
      return decidePlanning(desk)
    case 'executing':
    case 'blocked':
      return decideExecuting(desk)
    case 'reviewing':
      return decideReviewing(desk)
  }
}

/** Nothing that works for it begins a step once its budget is used up; when one of them found out, the goal ends. */
function spentOf({ state, goal, config, now }: Desk): string | undefined {
  const { wall_time_ms } = config.budget
  if (wall_time_ms !== undefined && now - goal.received_at >= wall_time_ms)
    return saySpent('The goal', { limit: 'wall_time_ms', used: now - goal.received_at, allowed: wall_time_ms })
  for (const run of state.runs.values())
    if (run.budget_of === goal.agent_id && run.budget_spent !== null) return saySpent('The goal', run.budget_spent)
  return undefined
}

/** Agents leave when the goal is over and nothing of theirs is under way. */
function tidy(desk: Desk) {
  for (const { agent_id } of workersOf(desk)) {
    const busy = [...desk.state.openRuns.values()].some((run) => run.agent_id === agent_id)
    if (!busy) dismiss(desk, { agent_id })
  }
}

/** The agent of the goal and the agents it spawned. */
export function workersOf({ state, goal }: Pick<Desk, 'state' | 'goal'>) {
  return [...state.agents.values()].filter(
    ({ agent_id, parent_id }) => agent_id === goal.agent_id || parent_id === goal.agent_id,
  )
}
