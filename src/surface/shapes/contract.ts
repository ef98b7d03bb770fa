import { z } from 'zod'
import { stateNames, triggerNames } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { ConsequenceView } from '../../observation/consequence.ts'
import type { ExecutionSnapshot, TransitionRecord } from '../../observation/contract.ts'
import { consequenceLabels } from '../../observation/contract-status.ts'
import type { ExecutionTimeline } from '../../observation/timeline.ts'
import type { ExecutionStep } from '../../observation/trace.ts'
import { actorCategories, actors } from '../../runes/actor.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { deciders, waitingReasons } from '../../runes/kinds/contract.ts'
import { abandonedShape } from './session.ts'

const status = z.enum(stateNames(contractMachine))
const trigger = z.enum(triggerNames(contractMachine))
const cause = {
  waiting_reason: z.enum(waitingReasons).nullable(),
  error_kind: z.string().nullable(),
  interaction_id: z.string().nullable(),
}
const actionType = z.enum(['tool_call', 'ecs_request'])
const moment = z.int()
const span = z.int().nonnegative()

const snapshotFields = z.object({
  execution_id: z.string(),
  action_type: actionType,
  action_summary: z.string(),
  current_status: status,
  created_at: moment,
  entered_at: moment,
  duration_in_state_ms: span,
  is_terminal: z.boolean(),
  is_stable: z.boolean(),
  is_resumable: z.boolean(),
  has_side_effects: z.boolean(),
  irreversible: z.boolean(),
  idempotency_key: z.string().nullable(),
  timeout_ms: z.int().nullable(),
  result: jsonValue.nullable(),
  error_message: z.string().nullable(),
  ...cause,
  transition_count: z.int().nonnegative(),
  last_actor: z.enum(actors).nullable(),
  last_trigger: trigger.nullable(),
})

export const snapshotShape: z.ZodType<ExecutionSnapshot> = snapshotFields

/** One contract by itself. */
export const oneSnapshotShape = snapshotFields.extend({
  /** It is running, and its process is gone; null where a process works on the store. */
  abandoned: abandonedShape.nullable(),
})

export const consequenceShape: z.ZodType<ConsequenceView> = z.object({
  execution_id: z.string(),
  action_type: actionType,
  action_summary: z.string(),
  consequence_label: z.enum([...new Set(Object.values(consequenceLabels)), 'UNKNOWN']),
  result: jsonValue.nullable(),
  error_message: z.string().nullable(),
  has_side_effects: z.boolean(),
  was_suspended: z.boolean(),
  decided_by: z.enum(deciders).nullable(),
  is_still_pending: z.boolean(),
  total_duration_ms: span.nullable(),
})

export const transitionShape: z.ZodType<TransitionRecord> = z.object({
  execution_id: z.string(),
  sequence_number: z.int().nonnegative(),
  from_status: status,
  to_status: status,
  trigger,
  actor: z.enum(actors),
  actor_category: z.enum(actorCategories),
  timestamp: moment,
  is_terminal_transition: z.boolean(),
  ...cause,
})

export const timelineShape: z.ZodType<ExecutionTimeline> = z.object({
  session_id: z.string(),
  contracts: z.array(snapshotShape),
  transitions: z.array(transitionShape),
  total_contracts: z.int().nonnegative(),
  terminal_contracts: z.int().nonnegative(),
  active_contracts: z.int().nonnegative(),
  has_suspended: z.boolean(),
  has_irreversible_completed: z.boolean(),
  started_at: moment.nullable(),
  ended_at: moment.nullable(),
})

export const stepShape: z.ZodType<ExecutionStep> = z.object({
  node_id: z.string(),
  timestamp: moment,
  action: z.string(),
  result: z.string().nullable(),
  metadata: z.object({
    trigger: z.string().nullable(),
    actor: z.string(),
    contract_id: z.string(),
    irreversible: z.boolean(),
    ...cause,
  }),
})
