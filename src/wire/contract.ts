import * as z from 'zod'
import { stateNames, triggerNames } from '../kernel/machine.ts'
import { contractMachine } from '../machines/contract.ts'
import { jsonValue, kinds, waitingReasons } from '../runes/kinds.ts'
import { actorCategories, actors } from '../runes/rune.ts'
import { count, id } from './common.ts'
import { consequenceShape, messageShape } from './dialogue.ts'
import { endpoint } from './endpoint.ts'
import { abandonedShape } from './session.ts'

const status = z.enum(stateNames(contractMachine))
const trigger = z.enum(triggerNames(contractMachine))
const moment = z.int()
const span = z.int().nonnegative()

const cause = {
  /** Why it waits from here on; null if it does not. */
  waiting_reason: z.enum(waitingReasons).nullable(),
  /** The kind of failure, such as `timeout`. */
  error_kind: z.string().nullable(),
  /** The question that it waits for from here on, or waited for until here. */
  interaction_id: z.string().nullable(),
}

/** The public part of a contract. */
export const snapshotShape = z.object({
  execution_id: z.string(),
  action_type: kinds['contract.opened'].shape.action_type,
  action_summary: z.string(),
  current_status: status,
  created_at: moment,
  entered_at: moment,
  duration_in_state_ms: span,
  is_terminal: z.boolean(),
  is_stable: z.boolean(),
  is_resumable: z.boolean(),
  /** The action is irreversible. Its actual effects are in the consequence view. */
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
/** One contract as it is now (specification 001). */
export type ExecutionSnapshot = z.infer<typeof snapshotShape>

/** One contract by itself. */
const oneSnapshotShape = snapshotShape.extend({
  /** It is running, and its process is gone; null where a process works on the store. */
  abandoned: abandonedShape.nullable(),
})
/** One contract by itself. */
export type OneSnapshot = z.infer<typeof oneSnapshotShape>

/** One move of one contract. */
const transitionShape = z.object({
  execution_id: z.string(),
  /** Per contract, from 0. */
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
/** One move of one contract. */
export type TransitionRecord = z.infer<typeof transitionShape>

/** Every move of one contract, oldest first. */
const transitionsShape = z.object({
  execution_id: z.string(),
  session_id: z.string(),
  transitions: z.array(transitionShape).readonly(),
})

/** All contracts of a session and all their moves. */
const timelineShape = z.object({
  session_id: z.string(),
  /** By `created_at`. */
  contracts: z.array(snapshotShape).readonly(),
  /** By `timestamp`; moves at the same time stay in the order of the log. */
  transitions: z.array(transitionShape).readonly(),
  total_contracts: z.int().nonnegative(),
  terminal_contracts: z.int().nonnegative(),
  active_contracts: z.int().nonnegative(),
  /** Some contract waits now. */
  has_suspended: z.boolean(),
  has_irreversible_completed: z.boolean(),
  started_at: moment.nullable(),
  /** Only when every contract is over. */
  ended_at: moment.nullable(),
})
/** All contracts of a session and all their moves (specification 001). */
export type ExecutionTimeline = z.infer<typeof timelineShape>

/** One entry of the execution trace. */
export const stepShape = z.object({
  /** The actor. */
  node_id: z.string(),
  timestamp: moment,
  action: z.string(),
  /** The beginning of the result or of the error; the snapshot has the whole of it. */
  result: z.string().nullable(),
  metadata: z.object({
    trigger: z.string().nullable(),
    actor: z.string(),
    contract_id: z.string(),
    irreversible: z.boolean(),
    ...cause,
  }),
})
/** One entry of the execution trace (specification 000). */
export type ExecutionStep = z.infer<typeof stepShape>

const graphStatuses = ['idle', 'processing', 'suspended', 'error'] as const

/** The status of a graph. */
export type GraphStatus = (typeof graphStatuses)[number]

/** Where reasoning stands. */
const graphShape = z.object({
  session_id: z.string(),
  /** The event after which this is so; 0 before the first. */
  event_id: z.int(),
  status: z.enum(graphStatuses),
  dialogue: z.array(messageShape).readonly(),
  /** Recorded or under way. */
  pending_executions: z.array(snapshotShape).readonly(),
  /** Over, or waiting for an answer. */
  completed_executions: z.array(snapshotShape).readonly(),
  execution_trace: z.array(stepShape).readonly(),
  /** The contracts that a resume has to find waiting; `expected_waiting` of an answer. */
  expected_waiting: z.array(z.string()).readonly(),
})
/** Where reasoning stands: a function of the runes. */
export type GraphState = z.infer<typeof graphShape>

/** An agent's memory of a contract. */
export const memoryFactShape = z.object({
  /** The record of it. */
  event_id: z.int(),
  at: z.int(),
  session_id: z.string(),
  run_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  ...kinds['memory.committed'].shape,
})
/** An agent's memory of a contract, with its origin. */
export type MemoryFact = z.infer<typeof memoryFactShape>

/** The endpoints of executions. */
export const contractEndpoints = {
  getTimeline: endpoint('get_timeline', 'GET /api/execution/{session_id}/timeline', { returns: timelineShape }),
  getSnapshot: endpoint('get_snapshot', 'GET /api/execution/{execution_id}/snapshot', { returns: oneSnapshotShape }),
  getConsequence: endpoint('get_consequence', 'GET /api/execution/{execution_id}/consequence', {
    returns: consequenceShape,
  }),
  getTransitions: endpoint('get_transitions', 'GET /api/execution/{execution_id}/transitions', {
    returns: transitionsShape,
  }),
  getGraphState: endpoint('get_graph_state', 'GET /api/sessions/{session_id}/graph', {
    query: z.strictObject({
      /** Only what belongs to this agent; without it all contracts, and the dialogue of the root agent. */
      agent_id: id.optional(),
      at: count(z.int().nonnegative()).optional(),
    }),
    returns: graphShape,
  }),
  getOutput: endpoint('get_output', 'GET /api/outputs/{ref}', {
    returns: z.object({ ref: z.string(), text: z.string() }),
  }),
}
