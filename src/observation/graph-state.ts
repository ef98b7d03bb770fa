import { isTerminal } from '../kernel/machine.ts'
import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import type { Draft, Rune } from '../runes/rune.ts'
import type {
  ExecutionSnapshot,
  ExecutionStep,
  ExecutionTimeline,
  GraphState,
  GraphStatus,
  TransitionRecord,
} from '../wire/contract.ts'
import {
  addToHistories,
  type ContractHistory,
  causeOf,
  consequenceView,
  contractHistories,
  type GrowingHistories,
  snapshot,
  statusFlags,
  summary,
  transitionRecords,
} from './contract.ts'
import { foldDialogue, newDialogue } from './dialogue.ts'
import type { CallView, SessionState } from './session-state.ts'

/** The graph status of a run in each status. */
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

/** The position of one run in its graph. */
interface GraphPosition {
  readonly status: GraphStatus
  /** Calls whose contract is recorded or under way. */
  readonly pending: readonly CallView[]
  /** Calls whose contract a resume has to find waiting. */
  readonly expected_waiting: readonly CallView[]
}

/** The position of one run in a folded session, for recovery and resume. `graphState` derives it from the runes. */
export function positionOf({ calls, runs }: Pick<SessionState, 'calls' | 'runs'>, run_id: string): GraphPosition {
  const own = [...calls.values()].filter((call) => call.run_id === run_id && call.contract !== null)
  const statusOf = ({ contract }: CallView) => contract ?? contractMachine.initial
  return {
    status: statuses[runs.get(run_id)?.status ?? 'canceled'],
    pending: own.filter((call) => isPending(statusOf(call))),
    expected_waiting: own.filter((call) => isExpected(statusOf(call))),
  }
}

/** The part of a session, and the time. */
export interface GraphOf {
  /** Only this agent; without it all contracts, and the dialogue of the root agent. */
  readonly agentId?: string | undefined
  /** After this event; without it, after the last one. */
  readonly atEventId?: number | undefined
}

/** The graph of one agent, or of the session with the root agent's dialogue. Durations are as of the last rune. */
export function graphState(runes: Iterable<Rune>, of: GraphOf = {}): GraphState {
  const { agentId, atEventId = Number.POSITIVE_INFINITY } = of
  const growing = createGraph(agentId)
  for (const rune of runes) if (rune.event_id <= atEventId) growing.fold(rune)
  for (const history of growing.contracts()) growing.addContract(history)
  return growing.state()
}

/** The same in parts, for a session that is too long to read at once: first its runes, then its contracts. */
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
    if (isTerminal(runMachine, status)) ended = status
    else open.set(run_id, status)
  }

  return {
    fold(rune: Rune) {
      last = rune
      if (rune.kind === 'agent.spawning' && rune.payload.parent_id === null) speaker ??= rune.payload.agent_id
      if (rune.agent_id === speaker) foldDialogue(dialogue, rune)
      if (agent_id !== undefined && rune.agent_id !== agent_id) return
      addToHistories(histories, rune)
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

/** Work under way outranks waiting, and waiting outranks the end of the last run. */
function statusOf(open: readonly RunStatus[], ended: RunStatus | undefined): GraphStatus {
  const now = open.map((status) => statuses[status])
  if (now.includes('processing')) return 'processing'
  if (now.includes('suspended')) return 'suspended'
  return ended === undefined ? 'idle' : statuses[ended]
}

/** The timeline of the contracts in these runes. */
export function executionTimeline(session_id: string, runes: Iterable<Draft>, now: number): ExecutionTimeline {
  const log = [...runes]
  const growing = createTimeline(session_id, now)
  for (const history of contractHistories(log).values()) growing.addContract(history)
  for (const rune of log) growing.addMove(rune)
  return growing.timeline()
}

/** The same in parts, for a session that is too long to read at once: first its contracts, then its runes. */
export function createTimeline(session_id: string, now: number) {
  const contracts: ExecutionSnapshot[] = []
  const transitions: TransitionRecord[] = []
  const records = new Map<string, Iterator<TransitionRecord>>()
  let terminal_contracts = 0
  let has_suspended = false
  let has_irreversible_completed = false

  return {
    addContract(history: ContractHistory) {
      const contract = snapshot(history, now)
      contracts.push(contract)
      records.set(contract.execution_id, transitionRecords(history)[Symbol.iterator]())
      if (contract.is_terminal) terminal_contracts += 1
      has_suspended ||= contract.is_resumable
      has_irreversible_completed ||= consequenceView(history).has_side_effects
    },
    addMove(rune: Draft) {
      if (rune.kind !== 'contract.moved') return
      const next = records.get(rune.execution_id ?? '')?.next()
      if (next !== undefined && !next.done) transitions.push(next.value)
    },
    timeline(): ExecutionTimeline {
      const byTime = transitions.toSorted((a, b) => a.timestamp - b.timestamp)
      const inOrder = contracts.toSorted((a, b) => a.created_at - b.created_at)
      const active_contracts = contracts.length - terminal_contracts
      return {
        session_id,
        contracts: inOrder,
        transitions: byTime,
        total_contracts: contracts.length,
        terminal_contracts,
        active_contracts,
        has_suspended,
        has_irreversible_completed,
        started_at: inOrder[0]?.created_at ?? null,
        ended_at: active_contracts === 0 ? (byTime.at(-1)?.timestamp ?? null) : null,
      }
    },
  }
}

/** Every opening and move of contracts, oldest first. To read a log in parts, pass the same map with each part. */
export function executionTrace(runes: Iterable<Draft>, irreversible = new Map<string, boolean>()): ExecutionStep[] {
  const steps: ExecutionStep[] = []
  for (const rune of runes) {
    const { execution_id: id } = rune
    if (id === undefined) continue
    if (rune.kind === 'contract.opened') {
      irreversible.set(id, rune.payload.irreversible)
      steps.push({ ...step(rune, id, rune.payload.irreversible), action: `create_contract:${id}`, result: null })
    } else if (rune.kind === 'contract.moved') {
      const outcome = rune.payload.error_message ?? rune.payload.result ?? null
      const action = `transition:${id}:${rune.from}→${rune.to}`
      const result = outcome === null ? null : summary(outcome)
      steps.push({ ...step(rune, id, irreversible.get(id) ?? false), action, result })
    }
  }
  return steps
}

function step(rune: Draft, contract_id: string, irreversible: boolean) {
  const { actor, at: timestamp, trigger = null } = rune
  const cause =
    rune.kind === 'contract.moved' ? causeOf(rune) : { waiting_reason: null, error_kind: null, interaction_id: null }
  const metadata = { trigger, actor, contract_id, irreversible, ...cause }
  return { node_id: actor, timestamp, metadata }
}
