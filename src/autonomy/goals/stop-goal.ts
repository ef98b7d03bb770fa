import type { GoalTrigger } from '../../machines/goal.ts'
import type { Actor } from '../../runes/actor.ts'
import { cancelAtRest, isOver } from '../../runtime/commands/stop.ts'
import { aboutRun } from '../../runtime/engine/hold.ts'
import { aboutGoal, type Desk } from './desk.ts'
import { isOver as isTaskOver } from './schedule.ts'

type Stopping = Extract<GoalTrigger, 'user_cancel' | 'budget_exhausted' | 'unresolvable'>

/**
 * Ends a goal and everything that is under way for it, in one append. What a
 * worker holds is asked to stop; an outcome that nobody knows stays a question,
 * which outlives the goal.
 */
export function stopGoal(desk: Desk, trigger: Stopping, reason: string, actor: Actor) {
  const { batch, goal } = desk
  for (const { planned, state, interaction_id } of goal.tasks) {
    if (isTaskOver(state)) continue
    withdraw(desk, interaction_id, reason, actor)
    const about = aboutGoal(desk, planned.task_id)
    batch.move('task', planned.task_id, 'cancel', 'task.moved', { actor, payload: { reason } }, about)
  }
  withdraw(desk, goal.plan?.interaction_id ?? null, reason, actor)
  stopRuns(desk, reason, actor)
  batch.move('goal', goal.goal_id, trigger, 'plan.stopped', { actor, payload: { reason } }, aboutGoal(desk))
}

function withdraw({ state, batch }: Desk, interaction_id: string | null, reason: string, actor: Actor) {
  if (interaction_id === null || state.interactions.get(interaction_id)?.state !== 'open') return
  const said = { actor, payload: { reason } }
  batch.move(
    'interaction',
    interaction_id,
    'withdraw',
    'interaction.withdrawn',
    said,
    { interaction_id },
    {
      outcome_is_known: true,
    },
  )
}

function stopRuns({ engine, state, goal, batch }: Desk, reason: string, actor: Actor) {
  for (const run of state.runs.values()) {
    if (isOver(run) || run.cancel !== null || run.parent_call_id !== null) continue
    const works_for = run.agent_id === goal.agent_id || state.agents.get(run.agent_id)?.parent_id === goal.agent_id
    if (!works_for) continue
    if (run.status !== 'running') cancelAtRest(engine, state, batch, run, reason, actor)
    else
      batch.move(
        'run',
        run.run_id,
        'request',
        'run.requested',
        { actor, payload: { request: 'cancel', reason } },
        aboutRun(run),
      )
  }
}
