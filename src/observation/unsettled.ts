import { canonicalJson, type Json } from '../kernel/json.ts'
import type { Evidence, Payload } from '../runes/kinds.ts'
import type { UnsettledItem } from '../wire/interaction.ts'
import type { Abandoned } from '../wire/session.ts'
import type { SessionState } from './session-state.ts'

/** A call whose process died. Its outcome is unknown until a worker asks the probe of the tool, or a person. */
export type Unsettled = Omit<UnsettledItem, 'title'>

/** How many calls of a run wait because it is unknown whether they happened. */
export function unsettledCalls({ calls }: SessionState, id: string): number {
  return [...calls.values()].filter(({ run_id, contract, reason }) => {
    return run_id === id && contract === 'waiting' && reason === 'outcome_unknown'
  }).length
}

/** The calls of these runs, which no process holds, that may not simply be repeated. */
export function unsettledIn({ session_id, calls }: SessionState, run_ids: ReadonlySet<string>): readonly Unsettled[] {
  return [...calls.values()].flatMap((call) => {
    const { run_id, call_id, execution_id, action_summary, irreversible, started_at: since } = call
    if (!run_ids.has(run_id) || call.contract !== 'running' || execution_id === null || call.idempotent) return []
    const says = `The process that called ${call.name} is gone, and whether it happened is unknown. Start a worker or a server, or watch ${run_id} with --work: it asks the probe of the tool, or a person.`
    return [{ session_id, run_id, call_id, execution_id, action_summary, irreversible, since, says }]
  })
}

/** The work that a dead process left running in a session. */
export interface Left {
  readonly run_ids: ReadonlySet<string>
  /** Calls whose outcome is unknown. */
  readonly unsettled: readonly Unsettled[]
}

/** `watched` is the argument for `watch --work` in the sentence; default: the run. Null: no run is abandoned. */
export function abandonedBy({ run_ids, unsettled }: Left, watched?: string): Abandoned | null {
  const [run_id] = unsettled.map((call) => call.run_id).concat(...run_ids)
  if (run_id === undefined) return null
  return { run_id, unsettled: unsettled.length, says: sayLeft(watched ?? run_id, unsettled.length) }
}

/** The fate of a run whose process is gone, and the next step. */
export function sayLeft(watched: string, unsettled: number): string {
  const unknown = `the outcome of ${unsettled === 1 ? 'a call' : `${unsettled} calls`} is unknown`
  const problem = unsettled === 0 ? 'nothing carries it out' : unknown
  return `Its process is gone, and ${problem}. Start a worker or a server, or watch ${watched} with --work.`
}

/** The evidence of a question, and what the tool reported since. A report may be recorded right before the question too. */
export function withReports(opened: Payload<'interaction.opened'>, recorded: readonly Evidence[]): Json[] {
  const { interaction_kind, evidence } = opened
  if (interaction_kind !== 'settlement') return evidence
  const shown = new Set(evidence.map((each) => canonicalJson(each)))
  const late = recorded.filter((each) => each.reported !== undefined && !shown.has(canonicalJson(each)))
  return [...evidence, ...late]
}
