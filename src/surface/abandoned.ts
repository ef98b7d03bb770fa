import { type Left, unsettledIn } from '../observation/unsettled.ts'
import type { Backend } from './backend.ts'

/** The sessions with a run that is running and that no process has, as of the record: nothing is written for it. */
export async function leftBehind(
  backend: Backend,
  isWanted: (session_id: string) => boolean,
): Promise<Map<string, Left>> {
  const runs = new Map<string, Set<string>>()
  for (const { session_id, run_id } of await backend.abandoned())
    if (isWanted(session_id)) runs.set(session_id, (runs.get(session_id) ?? new Set()).add(run_id))
  const left = new Map<string, Left>()
  for (const [session_id, run_ids] of runs) {
    const { state, hidden } = await backend.views.of(session_id)
    const unsettled = unsettledIn(state, run_ids).filter(({ execution_id }) => !hidden.has(execution_id))
    left.set(session_id, { run_ids, unsettled })
  }
  return left
}
