import { type Unsettled, unsettledIn } from '../observation/unsettled.ts'
import type { Desk } from './desk.ts'

/** What a process that is gone left running in a session. */
export interface Left {
  readonly run_ids: ReadonlySet<string>
  /** Calls whose outcome is unknown. */
  readonly unsettled: readonly Unsettled[]
}

/** The sessions with a run that is running and that no process has, as of the record: nothing is written for it. */
export async function leftBehind(desk: Desk, isWanted: (session_id: string) => boolean): Promise<Map<string, Left>> {
  const runs = new Map<string, Set<string>>()
  for (const { session_id, run_id } of await desk.abandoned())
    if (isWanted(session_id)) runs.set(session_id, (runs.get(session_id) ?? new Set()).add(run_id))
  const left = new Map<string, Left>()
  for (const [session_id, run_ids] of runs) {
    const { state, hidden } = await desk.views.of(session_id)
    const unsettled = unsettledIn(state, run_ids).filter(({ execution_id }) => !hidden.has(execution_id))
    left.set(session_id, { run_ids, unsettled })
  }
  return left
}

/** What became of a run whose process is gone, and what to do. */
export function sayLeft(run_id: string, unsettled: number): string {
  const unknown = `the outcome of ${unsettled === 1 ? 'a call' : `${unsettled} calls`} is unknown`
  const stands = unsettled === 0 ? 'nothing carries it out' : unknown
  return `Its process is gone, and ${stands}. Start a worker or a server, or watch ${run_id} with --work.`
}
