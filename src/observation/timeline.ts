import type { Draft } from '../runes/rune.ts'
import {
  consequenceView,
  contractHistories,
  type ExecutionSnapshot,
  snapshot,
  type TransitionRecord,
  transitionRecords,
} from './contract.ts'

/** All contracts of a session and all their moves (specification 001). */
export interface ExecutionTimeline {
  readonly session_id: string
  /** By `created_at`. */
  readonly contracts: readonly ExecutionSnapshot[]
  /** By `timestamp`; what happened at the same time stays in the order of the log. */
  readonly transitions: readonly TransitionRecord[]
  readonly total_contracts: number
  readonly terminal_contracts: number
  readonly active_contracts: number
  /** Some contract waits now. */
  readonly has_suspended: boolean
  readonly has_irreversible_completed: boolean
  readonly started_at: number | null
  /** Only when every contract is over. */
  readonly ended_at: number | null
}

export function executionTimeline(session_id: string, runes: Iterable<Draft>, now: number): ExecutionTimeline {
  const log = [...runes]
  const histories = contractHistories(log)
  const contracts = [...histories.values()]
    .map((history) => snapshot(history, now))
    .toSorted((a, b) => a.created_at - b.created_at)
  const transitions = inLogOrder(log, histories).toSorted((a, b) => a.timestamp - b.timestamp)
  const terminal_contracts = contracts.filter((contract) => contract.is_terminal).length
  const active_contracts = contracts.length - terminal_contracts

  return {
    session_id,
    contracts,
    transitions,
    total_contracts: contracts.length,
    terminal_contracts,
    active_contracts,
    has_suspended: contracts.some((contract) => contract.is_resumable),
    has_irreversible_completed: [...histories.values()].some((history) => consequenceView(history).has_side_effects),
    started_at: contracts[0]?.created_at ?? null,
    ended_at: active_contracts === 0 ? (transitions.at(-1)?.timestamp ?? null) : null,
  }
}

function inLogOrder(log: readonly Draft[], histories: ReturnType<typeof contractHistories>): TransitionRecord[] {
  const records = new Map([...histories].map(([id, history]) => [id, transitionRecords(history)[Symbol.iterator]()]))
  return log.flatMap((rune) => {
    if (rune.kind !== 'contract.moved') return []
    const next = records.get(rune.execution_id ?? '')?.next()
    return next === undefined || next.done ? [] : [next.value]
  })
}
