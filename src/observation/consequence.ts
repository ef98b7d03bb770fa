import type { Json } from '../kernel/json.ts'
import type { Decider } from '../runes/kinds/contract.ts'

/** What the world looks like after an attempt, in words that reasoning can use (specification 001). */
export interface ConsequenceView {
  readonly execution_id: string
  readonly action_type: 'tool_call' | 'ecs_request'
  readonly action_summary: string
  readonly consequence_label: ConsequenceLabel
  readonly result: Json | null
  readonly error_message: string | null
  /** The action is irreversible and it happened. */
  readonly has_side_effects: boolean
  readonly was_suspended: boolean
  /** Who decided: a person, a deadline that took the default, policy; null where nothing had to be decided. */
  readonly decided_by: Decider | null
  readonly is_still_pending: boolean
  /** Only once it is over. */
  readonly total_duration_ms: number | null
}

export type ConsequenceLabel =
  | 'SUCCESS'
  | 'FAILED'
  | 'REJECTED'
  | 'CANCELLED'
  | 'WAITING'
  | 'UNKNOWN'
  | 'IN_PROGRESS'
  | 'NOT_STARTED'
