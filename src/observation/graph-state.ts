import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import type { ExecutionSnapshot, ExecutionStep, GraphState, GraphStatus } from '../wire/contract.ts'
import { type ContractHistory, type GrowingHistories, snapshot, statusFlags, tellHistories } from './contract.ts'
import { foldDialogue, newDialogue } from './dialogue.ts'
import type { CallView, SessionState } from './session-state.ts'
import { executionTrace } from './timeline.ts'

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

const isPending = (status: ContractStatus) => !statusFlags(status).is_stable
const isExpected = (status: ContractStatus) => statusFlags(status).is_resumable

/** Where one run stands in its graph. */
interface GraphPosition {
  readonly status: GraphStatus
  /** Calls whose contract is recorded or under way. */
  readonly pending: readonly CallView[]
  /** Calls whose contract a resume has to find waiting. */
  readonly expected_waiting: readonly CallView[]
}

/** The position of one run in a folded session. Recovery and resume go by it; `graphState` derives the same from the runes. */
export function positionOf({ calls, runs }: Pick<SessionState, 'calls' | 'runs'>, run_id: string): GraphPosition {
  const own = [...calls.values()].filter((call) => call.run_id === run_id && call.contract !== null)
  const statusOf = ({ contract }: CallView) => contract ?? contractMachine.initial
  return {
    status: statuses[runs.get(run_id)?.status ?? 'canceled'],
    pending: own.filter((call) => isPending(statusOf(call))),
    expected_waiting: own.filter((call) => isExpected(statusOf(call))),
  }
}

/** Which part of a session, and when. */
export interface GraphOf {
  /** Only what belongs to this agent; without it all contracts, and the dialogue of the root agent. */
  readonly agentId?: string | undefined
  /** After this event; without it, after the last one. */
  readonly atEventId?: number | undefined
}

/**
 * The graph of one agent, or of the whole session: then all contracts are in it and the dialogue is the root agent's.
 * Durations are as of the last rune, so that the same runes give the same state at any time.
 */
export function graphState(
  runes: Iterable<Rune>,
  { agentId, atEventId = Number.POSITIVE_INFINITY }: GraphOf = {},
): GraphState {
  const growing = createGraph(agentId)
  for (const rune of runes) if (rune.event_id <= atEventId) growing.fold(rune)
  for (const history of growing.contracts()) growing.addContract(history)
  return growing.state()
}

/** The same, bit by bit, for a session that is too long to go through at once: first its runes, then its contracts. */
export function createGraph(agent_id?: string) {
  const histories: GrowingHistories = new Map()
  const dialogue = newDialogue()
  const irreversible = new Map<string, boolean>()
  const trace: ExecutionStep[] = []
  const executions: ExecutionSnapshot[] = []
  const open = new Map<string, RunStatus>()
  let speaker = agent_id
  let ended: RunStatus | undefined
  let last: Rune | undefined

  function moved(run_id: string, status: RunStatus) {
    open.delete(run_id)
    if (runMachine.states[status].terminal) ended = status
    else open.set(run_id, status)
  }

  return {
    fold(rune: Rune) {
      last = rune
      if (rune.kind === 'agent.spawning' && rune.payload.parent_id === null) speaker ??= rune.payload.agent_id
      if (rune.agent_id === speaker) foldDialogue(dialogue, rune)
      if (agent_id !== undefined && rune.agent_id !== agent_id) return
      tellHistories(histories, rune)
      trace.push(...executionTrace([rune], irreversible))
      if (rune.machine === runMachine.name && rune.subject_id !== undefined)
        moved(rune.subject_id, rune.to as RunStatus)
    },
    contracts: (): readonly ContractHistory[] => [...histories.values()],
    addContract: (history: ContractHistory) => void executions.push(snapshot(history, last?.at ?? 0)),
    state(): GraphState {
      return {
        session_id: last?.session_id ?? '',
        event_id: last?.event_id ?? 0,
        status: statusOf([...open.values()], ended),
        dialogue: dialogue.messages,
        pending_executions: executions.filter(({ current_status }) => isPending(current_status)),
        completed_executions: executions.filter(({ current_status }) => !isPending(current_status)),
        execution_trace: trace,
        expected_waiting: executions.flatMap((one) => (isExpected(one.current_status) ? [one.execution_id] : [])),
      }
    },
  }
}

/** Work under way outranks waiting, and waiting outranks how the last run ended. */
function statusOf(open: readonly RunStatus[], ended: RunStatus | undefined): GraphStatus {
  const now = open.map((status) => statuses[status])
  if (now.includes('processing')) return 'processing'
  if (now.includes('suspended')) return 'suspended'
  return ended === undefined ? 'idle' : statuses[ended]
}
