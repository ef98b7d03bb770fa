import * as z from 'zod'
import { stateNames } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import { sessionMachine } from '../machines/session.ts'
import { budget, interactionKind, jsonValue, runModes } from '../runes/kinds.ts'
import { count, id, listOf, pageOf, pageQuery, reason, why } from './common.ts'
import { endpoint } from './endpoint.ts'
import { subjectShape } from './machine.ts'

/** A state of the session machine. */
export const sessionState = z.enum(stateNames(sessionMachine))
/** A state of the run machine. */
export const runStatus = z.enum(stateNames(runMachine))

const waitingShape = z.object({
  interaction_id: z.string(),
  interaction_kind: interactionKind,
  prompt: z.string(),
  deadline: z.int().nullable(),
  since: z.int(),
})

/** An abandoned run. */
export const abandonedShape = z.object({
  run_id: z.string(),
  /** Calls that may have happened or not, until a process that works takes the run. */
  unsettled: z.int(),
  says: z.string(),
})
/** An abandoned run. */
export type Abandoned = z.infer<typeof abandonedShape>

/** A session in a list. */
export const summaryShape = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  agent: z.string().nullable(),
  state: sessionState,
  since: z.int(),
  created_at: z.int(),
  /**
   * When something in it last counted: it, a run, a goal or a plan moved, a question opened or closed, an agent answered or
   * called a tool, someone steered or redacted. Other moves of a call, deltas and progress do not count.
   */
  updated_at: z.int(),
  /** The event of that change. */
  updated_event_id: z.int(),
  /** Of the most urgent run that is open, or of the last one; null before the first. */
  status: runStatus.nullable(),
  /** The run that `status` is about. */
  run_id: z.string().nullable(),
  status_since: z.int().nullable(),
  open_runs: z.int(),
  /** The oldest question, and how many there are. */
  waiting_for: waitingShape.nullable(),
  waiting: z.int(),
  used: z.object({ tokens: z.int(), tool_calls: z.int() }),
  budget: budget.nullable(),
  last_error: z.object({ code: z.string(), message: z.string(), at: z.int() }).nullable(),
  /** A run of it is running, and its process is gone; null where a process works on the store. */
  abandoned: abandonedShape.nullable(),
  current_line: z.string(),
})
/** A session in a list. */
export type SummaryCard = z.infer<typeof summaryShape>

/** The used budget. */
export const usedShape = z.object({ tokens: z.int(), tool_calls: z.int(), wall_time_ms: z.int() })

/** A session by itself. A stream from the cursor `event_id` continues it. */
const sessionShape = z.object({
  ...summaryShape.shape,
  /** The last event of the session. */
  event_id: z.int(),
  /** The cause of the suspension; null while it is not suspended. */
  suspension: z.object({ by: z.enum(['budget', 'errors']), reason: z.string() }).nullable(),
  is_sealed: z.boolean(),
  is_archived: z.boolean(),
  /** Every machine that is not over, outermost first. */
  spine: z.array(subjectShape).readonly(),
  waiting_on: z.array(waitingShape).readonly(),
  runs: listOf({ run_id: z.string(), agent: z.string(), status: runStatus, mode: z.string(), attempt: z.int() }),
  agents: listOf({
    agent_id: z.string(),
    agent: z.string(),
    role: z.string(),
    parent_id: z.string().nullable(),
    state: z.string(),
    used: usedShape,
    budget: budget.nullable(),
  }),
  costs: usedShape,
})
/** A session by itself. */
export type SessionCard = z.infer<typeof sessionShape>

/** A session that was moved, with its new state. */
const moved = z.object({ session_id: z.string(), state: sessionState })

/** The endpoints of sessions. */
export const sessionEndpoints = {
  createSession: endpoint('create_session', 'POST /api/sessions', {
    body: z.strictObject({
      agent: z.string().min(1).max(200),
      title: z.string().trim().min(1).max(200).optional(),
      budget: budget.optional(),
    }),
    returns: z.object({ session_id: z.string(), is_repeated: z.boolean() }),
  }),
  listSessions: endpoint('list_sessions', 'GET /api/sessions', {
    query: z.strictObject({
      ...pageQuery,
      state: sessionState.optional(),
      status: runStatus.optional(),
      agent: z.string().max(200).optional(),
      /** Words of a message, a title or an id; the last one may be the beginning of a word. */
      q: z.string().max(200).optional(),
    }),
    returns: pageOf(summaryShape),
  }),
  getSession: endpoint('get_session', 'GET /api/sessions/{session_id}', { returns: sessionShape }),
  sendMessage: endpoint('send_message', 'POST /api/sessions/{session_id}/messages', {
    body: z.strictObject({
      input: jsonValue,
      agent: z.string().min(1).max(200).optional(),
      agent_id: id.optional(),
      mode: z.enum(runModes).optional(),
      interactive_require_user_reply: z.boolean().optional(),
      budget: budget.optional(),
    }),
    returns: z.object({ session_id: z.string(), run_id: z.string(), is_repeated: z.boolean() }),
  }),
  pauseSession: endpoint('pause_session', 'POST /api/sessions/{session_id}/pause', { body: why, returns: moved }),
  resumeSession: endpoint('resume_session', 'POST /api/sessions/{session_id}/resume', {
    body: z
      .strictObject({
        /** New limits, counted from the beginning of the session. */
        budget: budget.optional(),
        /** Someone has looked at what went wrong. */
        reset: z.boolean().optional(),
        reason,
      })
      .refine(({ budget, reset }) => budget === undefined || reset !== true, {
        error:
          'Give budget or reset, not both: a budget for a session that its budget suspended, reset for one that its errors suspended.',
      }),
    returns: moved,
  }),
  closeSession: endpoint('close_session', 'POST /api/sessions/{session_id}/close', { body: why, returns: moved }),
  archiveSession: endpoint('archive_session', 'POST /api/sessions/{session_id}/archive', { returns: moved }),
  allowAgain: endpoint('allow_again', 'POST /api/execution/{execution_id}/allow-again', {
    returns: z.object({ execution_id: z.string(), allowed_by: z.string() }),
  }),
  redactRune: endpoint('redact_rune', 'POST /api/sessions/{session_id}/runes/{event_id}/redact', {
    params: z.object({ session_id: id, event_id: count(z.int().positive()) }),
    body: z.strictObject({ reason: z.string().trim().min(1).max(10_000) }),
    returns: z.object({ session_id: z.string(), event_id: z.int() }),
  }),
}
