import type { SessionState } from './session-state.ts'

/**
 * A call that was under way when its process went. Whether its action happened
 * is unknown until a process that works takes the run: it asks the probe of the
 * tool, or a person.
 */
export interface Unsettled {
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
  readonly execution_id: string
  readonly action_summary: string
  readonly irreversible: boolean
  /** When its action was allowed to begin. */
  readonly since: number
  readonly says: string
}

/** The calls of these runs, which no process holds, that may not simply be repeated. */
export function unsettledIn({ session_id, calls }: SessionState, run_ids: ReadonlySet<string>): readonly Unsettled[] {
  return [...calls.values()].flatMap((call) => {
    const { run_id, call_id, execution_id, action_summary, irreversible, started_at: since } = call
    const mayRepeat = call.read_only || call.idempotent
    if (!run_ids.has(run_id) || call.contract !== 'running' || execution_id === null || mayRepeat) return []
    const says = `The process that called ${call.name} is gone, and whether it happened is unknown. Start a worker or a server, or watch ${run_id} with --work: it asks the probe of the tool, or a person.`
    return [{ session_id, run_id, call_id, execution_id, action_summary, irreversible, since, says }]
  })
}
