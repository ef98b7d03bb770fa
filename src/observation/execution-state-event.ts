import type { ContractStatus, ContractTrigger } from '../machines/contract.ts'
import { actorCategory } from '../runes/actor.ts'
import type { Draft } from '../runes/rune.ts'
import type { ExecutionStateEvent } from '../wire/session-event.ts'
import { causeOf } from './contract.ts'
import { hasHappened, statusFlags } from './contract-status.ts'

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
