import type { PlanView } from '../autonomy/plans/plans.ts'
import type { PlanCard } from '../wire/plan.ts'

/** A plan as it is shown: the registry and the files are asked for by themselves. */
export function planCard({ input, files: _files, ...view }: PlanView): PlanCard {
  const moves = view.moves.map((move) => ({ ...move, guards: [...move.guards], outputs: [...move.outputs] }))
  return { ...view, moves, intent: input.intent ?? null, policy: input.policy ?? null }
}
