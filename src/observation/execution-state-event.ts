import type { ContractStatus, ContractTrigger } from '../machines/contract.ts'
import type { WaitingReason } from '../machines/correspondence.ts'
import { type ActorCategory, actorCategory } from '../runes/actor.ts'
import type { Draft } from '../runes/rune.ts'
import { causeOf } from './contract.ts'
import { hasHappened, statusFlags } from './contract-status.ts'

/** What an `execution_state` event says about one move of one contract (specification 001). */
export interface ExecutionStateEvent {
  readonly execution_id: string
  readonly action_summary: string
  readonly from_status: ContractStatus
  readonly to_status: ContractStatus
  readonly trigger: ContractTrigger
  readonly actor_category: ActorCategory
  readonly is_terminal: boolean
  readonly is_resumable: boolean
  /** The action is irreversible and this move says that it happened. */
  readonly has_side_effects: boolean
  readonly timestamp: number
  /** Why it waits from here on; null if it does not. */
  readonly waiting_reason: WaitingReason | null
  readonly error_kind: string | null
  /** The question that it waits for from here on, or waited for until here. */
  readonly interaction_id: string | null
}

/** Every flag is taken from where the move leads, so that an event says the same whenever it is made. */
export function executionStateEvent(
  opened: Draft<'contract.opened'>,
  move: Draft<'contract.moved'>,
): ExecutionStateEvent {
  const to_status = move.to as ContractStatus
  const { is_terminal, is_resumable } = statusFlags(to_status)
  return {
    execution_id: opened.execution_id ?? '',
    action_summary: opened.payload.action_summary,
    from_status: move.from as ContractStatus,
    to_status,
    trigger: move.trigger as ContractTrigger,
    actor_category: actorCategory(move.actor),
    is_terminal,
    is_resumable,
    has_side_effects: opened.payload.irreversible && hasHappened(to_status),
    timestamp: move.at,
    ...causeOf(move),
  }
}
