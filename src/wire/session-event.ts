import * as z from 'zod'
import { isTerminal, stateNames, triggerNames } from '../kernel/machine.ts'
import { contractMachine } from '../machines/contract.ts'
import { runMachine } from '../machines/run.ts'
import { interactionKind, jsonValue, kinds, waitingReasons } from '../runes/kinds.ts'
import { actorCategories } from '../runes/rune.ts'

// The only declaration of the events of a session: types, the OpenAPI document and `docs/streams.md` come from it.

const turn_id = z.string().optional()
const status = z.enum(stateNames(contractMachine))
const { output: _, ...resultOfTool } = kinds['tool.result'].shape
const { deadline, on_silence, digest } = kinds['interaction.opened'].shape

const executionState = z.strictObject({
  execution_id: z.string(),
  action_summary: z.string(),
  from_status: status,
  to_status: status,
  trigger: z.enum(triggerNames(contractMachine)),
  actor_category: z.enum(actorCategories),
  is_terminal: z.boolean(),
  is_resumable: z.boolean(),
  has_side_effects: z.boolean().describe('The action is irreversible and this move says that it happened.'),
  timestamp: z.int(),
  waiting_reason: z.enum(waitingReasons).nullable().describe('Why it waits from here on; null if it does not.'),
  error_kind: z.string().nullable(),
  interaction_id: z
    .string()
    .nullable()
    .describe('The question that it waits for from here on, or waited for until here.'),
})
/** One move of one contract, as a stream tells it. */
export type ExecutionStateEvent = z.infer<typeof executionState>

const about = { session_id: z.string(), run_id: z.string().optional() }
const recorded = {
  event_id: z.int().positive().describe('The record that it comes from, and the cursor of the stream.'),
  at: z.int().describe('When it was recorded, in milliseconds since 1970 (UTC).'),
  durable: z.literal(true),
}

/** One type of event: when it comes, and what its `payload` holds. */
function event<T extends string, S extends z.ZodRawShape>(type: T, when: string, payload: S) {
  return z
    .strictObject({ type: z.literal(type), ...about, ...recorded, payload: z.strictObject(payload) })
    .describe(when)
}

/** A piece of text comes before it is recorded, too. */
const delta = z
  .strictObject({
    type: z.literal('delta'),
    ...about,
    event_id: recorded.event_id.optional(),
    at: recorded.at.optional(),
    durable: z.boolean().describe('False: it is not recorded yet, and has no id to come back to.'),
    payload: z.strictObject({ turn_id, ...kinds['turn.assistant_delta'].shape }),
  })
  .describe('A piece of text is on its way. A client that ignores these misses nothing.')

/** Holds the fields of the question itself, too. */
const ecs = z
  .strictObject({
    type: z.literal('ecs'),
    ...about,
    ...recorded,
    payload: z.looseObject({
      id: z.string().describe('What to answer to.'),
      interaction_kind: interactionKind,
      type: z.string(),
      title: z.string(),
      session_id: z.string(),
      call_id: z.string().optional(),
      execution_id: z.string().optional(),
      deadline,
      on_silence,
      digest,
    }),
  })
  .describe('A person is asked. The fields and options of the request are fields here, too.')

/** Every event of the stream of a session. */
export const sessionEvent = z.discriminatedUnion('type', [
  event('text', 'A round of a turn said something: all of it, once.', {
    turn_id,
    round: z.int().optional(),
    is_partial: z.literal(true).optional().describe('It was cut short.'),
    is_final: z.boolean().describe('It is the last word of the run.'),
    content: z.string(),
  }),
  delta,
  event('emotion', 'A model tells the mood of the person it talks to.', {
    turn_id,
    ...kinds['turn.emotion_detected'].shape,
  }),
  ecs,
  event('tool_result', 'A call has its result.', { ...resultOfTool, result: jsonValue.nullable() }),
  event('execution_state', 'A contract moves.', executionState.shape),
  event('memory_saved', 'A contract is over, and the memory of it is saved.', {
    count: z.int().positive(),
    entries: z.array(kinds['memory.committed']),
  }),
  event('status', 'A session, run, interaction, plan or goal begins or moves.', {
    machine: z.string(),
    subject_id: z.string(),
    from: z.string().nullable(),
    status: z.string().describe('Where it is now.'),
    trigger: z.string().nullable(),
    session_id: z.string(),
  }),
  event('done', 'A run is over; once for each run, with any outcome.', {
    run_id: z.string(),
    status: z.enum(stateNames(runMachine).filter((status) => isTerminal(runMachine, status))),
    result: jsonValue.nullable(),
    error_code: z.string().nullable(),
    message: z.string().nullable(),
  }),
  event('error', 'A turn broke, or a run failed.', {
    code: z.string().nullable(),
    message: z.string().nullable(),
    retryable: z.boolean(),
    is_final: z.boolean().describe('The run failed over it.'),
    turn_id,
    run_id: z.string().optional(),
  }),
])

type Sent = z.infer<typeof sessionEvent>

/** One type of event, as a stream sends it. */
export type SentEvent<T extends SessionEventType> = Extract<Sent, { readonly type: T }>

type SessionEventType = Sent['type']

/** An event without its origin, which the stream adds. */
export type SessionEvent = {
  [T in SessionEventType]: Pick<Extract<Sent, { readonly type: T }>, 'type' | 'payload'>
}[SessionEventType]
/** The payload of one type of event. */
export type SessionPayload<T extends SessionEventType> = SentEvent<T>['payload']
