import * as z from 'zod'
import { deciders, jsonValue, kinds, type Payload } from '../runes/kinds.ts'
import { listOf } from './common.ts'

const label = z.enum(['NOT_STARTED', 'IN_PROGRESS', 'WAITING', 'SUCCESS', 'FAILED', 'REJECTED', 'CANCELLED', 'UNKNOWN'])

/** The label of each status; an unknown outcome has a label of its own. */
export type ConsequenceLabel = z.infer<typeof label>

/** The effects of one contract on the world. */
export const consequenceShape = z.object({
  execution_id: z.string(),
  action_type: kinds['contract.opened'].shape.action_type,
  action_summary: z.string(),
  consequence_label: label,
  result: jsonValue.nullable(),
  error_message: z.string().nullable(),
  /** The action is irreversible and it happened. */
  has_side_effects: z.boolean(),
  was_suspended: z.boolean(),
  /** A person, a deadline that took the default, or policy; null where nothing had to be decided. */
  decided_by: z.enum(deciders).nullable(),
  is_still_pending: z.boolean(),
  /** Only once it is over. */
  total_duration_ms: z.int().nonnegative().nullable(),
})
/** The world after an attempt, in words that reasoning can use (specification 001). */
export type ConsequenceView = z.infer<typeof consequenceShape>

/** One message of a dialogue. Reasoning is given these and nothing else. */
export const messageShape = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: jsonValue }),
  z.object({
    role: z.literal('assistant'),
    text: z.string(),
    calls: listOf({ call_id: z.string(), name: z.string(), arguments: jsonValue }),
    /** Data of the model that gave this answer; the model gets it again with the answer. */
    provider_state: jsonValue.exactOptional(),
    /** The id of that model. */
    provider_model: z.string().exactOptional(),
    /** The answer was cut short: by an interrupt, a steer, or an error. */
    partial: z.literal(true).exactOptional(),
  }),
  /** The outcome of a call. Reasoning learns nothing else about it. */
  z.object({ role: z.literal('tool'), call_id: z.string(), consequence: consequenceShape }),
])
/** One message of a dialogue, as a model gets it. */
export type Message = z.infer<typeof messageShape>
/** The usage of a model for an answer. */
export type Usage = Payload<'turn.completed'>['usage']
/** A call that a model asked for. */
export type ModelCall = Extract<Message, { role: 'assistant' }>['calls'][number]
