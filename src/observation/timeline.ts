import type { Draft } from '../runes/rune.ts'
import type { ExecutionSnapshot, ExecutionTimeline, TransitionRecord } from '../wire/contract.ts'
import { type ContractHistory, consequenceView, contractHistories, snapshot, transitionRecords } from './contract.ts'

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
