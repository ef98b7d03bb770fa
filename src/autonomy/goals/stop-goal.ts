import { isTerminal } from '../../kernel/machine.ts'
import { type GoalStop, goalStops } from '../../machines/goal.ts'
import { taskMachine } from '../../machines/task.ts'
import type { Actor, Rune } from '../../runes/rune.ts'
import { subject } from '../../runtime/batch.ts'
import { cancelNow } from '../../runtime/commands/session.ts'
import { withdrawQuestions } from '../../runtime/run/closing.ts'
import { readThrown } from '../../runtime/thrown.ts'
import type { Desk } from './desk.ts'
import type { Judging } from './judge-draft.ts'

/**
 * Ends a goal and everything that is under way for it, in one append, with all
 * that it asks a person. What a worker holds is asked to stop; an outcome
 * that is unknown stays a question, which outlives the goal. A coordination whose
 * questions are withdrawn comes to its end right after: see `endPlans`.
 */
export function stopGoal(desk: Desk, cause: GoalStop, reason: string, actor: Actor) {
  const { batch, goal, ids, state: session } = desk
  // The Coordinator may be about to ask about the draft in its hands.
  const judging = ids.coordination(goal.drafts.length + 1)
  if (session.subjects.has(judging)) batch.restOn(judging)
  withdrawQuestions(batch, ({ goal_id }) => goal_id === goal.goal_id, { reason, actor })
  for (const { planned, state } of goal.tasks) {
    if (isTerminal(taskMachine, state)) continue
    batch.on(subject.task(desk.goal.goal_id, planned.task_id), actor).move('cancel', { reason })
  }
  stopRuns(desk, reason, actor)
  batch.on(subject.goal(goal.goal_id), actor).move(goalStops[cause].on, { reason, cause })
}

/** Coordinations whose questions were withdrawn come to their end. Should the process die before, the next one sees to it. */
export async function endPlans({ engine, plans }: Pick<Judging, 'engine' | 'plans'>, runes: readonly Rune[]) {
  for (const { kind, coordination_id } of runes)
    if (kind === 'interaction.withdrawn' && coordination_id !== undefined)
      await plans
        .rest(coordination_id)
        .catch((error) =>
          engine.warn('a plan could not be ended yet', { coordination_id, error: readThrown(error).message }),
        )
}

function stopRuns({ engine, state, goal, batch }: Desk, reason: string, actor: Actor) {
  for (const run of state.openRuns.values()) {
    if (run.cancel !== null || run.parent_call_id !== null) continue
    const works_for = run.agent_id === goal.agent_id || state.agents.get(run.agent_id)?.parent_id === goal.agent_id
    if (!works_for) continue
    if (run.status !== 'running') cancelNow(engine, batch, run, { reason, actor })
    else batch.on(subject.run(run), actor).move('request', { request: 'cancel', reason })
  }
}
