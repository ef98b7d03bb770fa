import type { CallView, InteractionView } from '../../observation/session-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import { about } from '../contracts/about.ts'

/** What an interaction concerns: its call, or whatever asked where no call did. */
export function aboutOf(question: InteractionView, call: CallView | undefined): Concerns {
  const { run_id, coordination_id, goal_id, task_id, interaction_id } = question
  if (call !== undefined) return { ...about(call), interaction_id }
  return {
    ...(run_id === null ? {} : { run_id }),
    ...(coordination_id === null ? {} : { coordination_id }),
    ...(goal_id === null ? {} : { goal_id }),
    ...(task_id === null ? {} : { task_id }),
    interaction_id,
  }
}
