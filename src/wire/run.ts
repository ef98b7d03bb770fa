import { z } from 'zod'
import { budget, jsonValue } from '../runes/kinds.ts'
import { visibilities } from '../runes/rune.ts'
import { id, listOf } from './common.ts'
import { runStatus, usedShape } from './session.ts'

/** What a run is submitted with: as in the library, by the same names. */
export const submissionBody = z.strictObject({
  agent: z.string().min(1).max(200),
  input: jsonValue,
  session_id: id.optional(),
  agent_id: id.optional(),
  mode: z.enum(['interactive', 'auto']).optional(),
  interactive_require_user_reply: z.boolean().optional(),
  budget: budget.optional(),
  /** Of the session, where a new one begins. */
  session_budget: budget.optional(),
})

/** An agent as a person chooses one. */
export const agentShape = z.object({
  name: z.string(),
  role: z.string(),
  model: z.string(),
  tools: z.array(z.string()).readonly(),
  delegates: z.array(z.string()).readonly(),
  budget: budget.nullable(),
  may_ask: z.boolean(),
})
/** An agent as a person chooses one. */
export type AgentCard = z.infer<typeof agentShape>

/** The run that a submission began, or found. */
export const submittedShape = z.object({ session_id: z.string(), run_id: z.string(), is_repeated: z.boolean() })

/** A run in a list. */
export const listedRunShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  status: runStatus,
  since: z.int(),
  /** Of its session. */
  title: z.string().nullable(),
  agent: z.string().nullable(),
  /** It is running, and its process is gone. */
  is_abandoned: z.boolean(),
})
/** A run in a list. */
export type ListedRun = z.infer<typeof listedRunShape>

/** What keeps a queued run from being taken. */
export const obstacleShape = z.object({
  what: z.enum(['session', 'agent', 'run']),
  id: z.string(),
  state: z.string(),
  /** It does not go away by itself: a person answers, or brings the session back. */
  needs_person: z.boolean(),
  says: z.string(),
})
/** What keeps a queued run from being taken. */
export type Obstacle = z.infer<typeof obstacleShape>

/** A run by itself. */
export const runShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  agent_id: z.string(),
  agent: z.string(),
  input: jsonValue,
  mode: z.enum(['interactive', 'auto']),
  interactive_require_user_reply: z.boolean(),
  status: runStatus,
  since: z.int(),
  is_terminal: z.boolean(),
  attempt: z.int(),
  submitted_at: z.int(),
  current_line: z.string(),
  /** What keeps a queued run from being taken; null if a worker may take it, or has. */
  held_up_by: obstacleShape.nullable(),
  /** It is running, and its process is gone: nothing happens until a process that works takes it. */
  is_abandoned: z.boolean(),
  pending_interaction_ids: z.array(z.string()).readonly(),
  used: usedShape,
  budget: budget.nullable(),
  /** One that is not public has no result here, and nothing in any stream. */
  visibility: z.enum(visibilities),
  result: jsonValue.nullable(),
  error_code: z.string().nullable(),
  message: z.string().nullable(),
  /** How long it has been in each state. */
  durations: listOf({ state: z.string(), visits: z.int(), total_ms: z.int() }),
  event_id: z.int(),
})
/** A run by itself. */
export type RunCard = z.infer<typeof runShape>

/** How a run ended. */
export const resultShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  status: runStatus,
  result: jsonValue.nullable(),
  error_code: z.string().nullable(),
  message: z.string().nullable(),
})

/** What became of a request to stop or steer. */
export const stoppedShape = z.object({
  run_id: z.string(),
  status: z.string(),
  /** False: it was over before. */
  accepted: z.boolean(),
})
