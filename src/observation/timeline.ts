import type { Draft } from '../runes/rune.ts'
import type { ExecutionSnapshot, ExecutionStep, ExecutionTimeline, TransitionRecord } from '../wire/contract.ts'
import {
  type ContractHistory,
  causeOf,
  consequenceView,
  contractHistories,
  snapshot,
  transitionRecords,
} from './contract.ts'
import { summary } from './summary.ts'

/** The timeline of the contracts in these runes. */
export function executionTimeline(session_id: string, runes: Iterable<Draft>, now: number): ExecutionTimeline {
  const log = [...runes]
  const growing = createTimeline(session_id, now)
  for (const history of contractHistories(log).values()) growing.addContract(history)
  for (const rune of log) growing.addMove(rune)
  return growing.timeline()
}

/** The same, bit by bit, for a session that is too long to go through at once: first its contracts, then its runes. */
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

/** What was done to contracts, oldest first: every opening, every move. */
export function executionTrace(
  runes: Iterable<Draft>,
  /** A caller that goes through a log in parts hands it on from part to part. */
  irreversible = new Map<string, boolean>(),
): readonly ExecutionStep[] {
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
