import { type RunStatus, runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import { contractHistories, type ExecutionSnapshot, snapshot } from './contract.ts'
import { dialogueOf, type Message } from './dialogue.ts'
import { type ExecutionStep, executionTrace } from './trace.ts'

export type GraphStatus = 'idle' | 'processing' | 'suspended' | 'error'

/** Where reasoning stands: the checkpoint, which is a function of the runes. */
export interface GraphState {
  readonly session_id: string
  /** The last rune that it takes in; 0 before the first. */
  readonly event_id: number
  readonly status: GraphStatus
  readonly dialogue: readonly Message[]
  /** Recorded or under way. */
  readonly pending_executions: readonly ExecutionSnapshot[]
  /** Over, or waiting for an answer. */
  readonly completed_executions: readonly ExecutionSnapshot[]
  readonly execution_trace: readonly ExecutionStep[]
  /** The contracts that a resume has to find waiting. */
  readonly expected_waiting: readonly string[]
}

/** What a run in this status means for its graph. */
// biome-ignore format: tables are audited by eye, so their columns line up
const statuses: { readonly [S in RunStatus]: GraphStatus } = {
  running:      'processing',
  queued:       'processing',
  waiting_user: 'suspended',
  failed:       'error',
  succeeded:    'idle',
  canceled:     'idle',
}

/**
 * The graph of one agent, or of the whole session: then all contracts are in it
 * and the dialogue is the root agent's. Durations are as of the last rune, so
 * that the same runes give the same state at any time.
 */
export function graphState(
  runes: Iterable<Rune>,
  { agent_id, at_event_id }: { readonly agent_id?: string; readonly at_event_id?: number } = {},
): GraphState {
  const log = [...runes].filter((rune) => at_event_id === undefined || rune.event_id <= at_event_id)
  const own = agent_id === undefined ? log : log.filter((rune) => rune.agent_id === agent_id)
  const last = log.at(-1)
  const executions = [...contractHistories(own).values()].map((history) => snapshot(history, last?.at ?? 0))

  return {
    session_id: last?.session_id ?? '',
    event_id: last?.event_id ?? 0,
    status: statusOf(own),
    dialogue: dialogueOf(log, agent_id ?? rootAgent(log)),
    pending_executions: executions.filter((execution) => !execution.is_stable),
    completed_executions: executions.filter((execution) => execution.is_stable),
    execution_trace: executionTrace(own),
    expected_waiting: executions.flatMap((execution) => (execution.is_resumable ? [execution.execution_id] : [])),
  }
}

/** Work under way outranks waiting, and waiting outranks how the last run ended. */
function statusOf(runes: readonly Rune[]): GraphStatus {
  const runs = new Map<string, RunStatus>()
  let ended: RunStatus | undefined
  for (const rune of runes) {
    if (rune.machine !== runMachine.name || rune.subject_id === undefined) continue
    const status = rune.to as RunStatus
    if (runMachine.states[status].terminal) {
      runs.delete(rune.subject_id)
      ended = status
    } else runs.set(rune.subject_id, status)
  }
  const open = [...runs.values()].map((status) => statuses[status])
  if (open.includes('processing')) return 'processing'
  if (open.includes('suspended')) return 'suspended'
  return ended === undefined ? 'idle' : statuses[ended]
}

function rootAgent(runes: readonly Rune[]): string {
  for (const rune of runes)
    if (rune.kind === 'agent.spawning' && rune.payload.parent_id === null) return rune.payload.agent_id
  return ''
}
