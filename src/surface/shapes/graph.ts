import { z } from 'zod'
import type { Message } from '../../observation/dialogue.ts'
import { type GraphState, graphStatuses } from '../../observation/graph-state.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { consequenceShape, snapshotShape, stepShape } from './contract.ts'

const messageShape: z.ZodType<Message> = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: jsonValue }),
  z.object({
    role: z.literal('assistant'),
    text: z.string(),
    calls: z.array(z.object({ call_id: z.string(), name: z.string(), arguments: jsonValue })),
    provider_state: jsonValue.exactOptional(),
    provider_model: z.string().exactOptional(),
    partial: z.literal(true).exactOptional(),
  }),
  z.object({ role: z.literal('tool'), call_id: z.string(), consequence: consequenceShape }),
])

export const graphShape: z.ZodType<GraphState> = z.object({
  session_id: z.string(),
  /** The event after which this is so. */
  event_id: z.int(),
  status: z.enum(graphStatuses),
  dialogue: z.array(messageShape),
  /** Recorded or under way. */
  pending_executions: z.array(snapshotShape),
  /** Over, or waiting for an answer. */
  completed_executions: z.array(snapshotShape),
  execution_trace: z.array(stepShape),
  /** The contracts that a resume has to find waiting; `expected_waiting` of an answer. */
  expected_waiting: z.array(z.string()),
})
