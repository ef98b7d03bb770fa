import * as z from 'zod'
import type { RunStatus } from '../machines/run.ts'
import { budget, jsonValue, runModes } from '../runes/kinds.ts'
import { visibilities } from '../runes/rune.ts'
import { count, id, listOf, pageOf, pageQuery, reason, repliedBy, why } from './common.ts'
import { memoryFactShape, stepShape } from './contract.ts'
import { endpoint } from './endpoint.ts'
import { fcmpEvent } from './fcmp.ts'
import { expectedWaiting, interactionShape, repliedShape } from './interaction.ts'
import { runStatus, usedShape } from './session.ts'

/** The lists of runs, the most urgent status first: its name for people, and the option of `ps` that shows it. */
export const runLists = [
  { status: 'waiting_user', label: 'Needs you', option: 'waiting' },
  { status: 'running', label: 'Running', option: 'running' },
  { status: 'queued', label: 'Queued', option: 'queued' },
  { status: 'failed', label: 'Failed', option: 'failed' },
  { status: 'succeeded', label: 'Succeeded' },
  { status: 'canceled', label: 'Stopped' },
] as const satisfies readonly { readonly status: RunStatus; readonly label: string; readonly option?: string }[]

/** The options of a submission: as in the library, by the same names. */
export const submissionBody = z.strictObject({
  agent: z.string().min(1).max(200),
  input: jsonValue,
  session_id: id.optional(),
  agent_id: id.optional(),
  mode: z.enum(runModes).optional(),
  interactive_require_user_reply: z.boolean().optional(),
  budget: budget.optional(),
  /** Of the session, where a new one begins. */
  session_budget: budget.optional(),
})

/** An agent as a person chooses one. */
const agentShape = z.object({
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
const submittedShape = z.object({ session_id: z.string(), run_id: z.string(), is_repeated: z.boolean() })

/** A run in a list. */
const listedRunShape = z.object({
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

/** The reason why a queued run is not taken. */
export const obstacleShape = z.object({
  what: z.enum(['session', 'agent', 'run']),
  id: z.string(),
  state: z.string(),
  /** A person must answer, or resume the session. */
  needs_person: z.boolean(),
  says: z.string(),
})
/** The reason why a queued run is not taken. */
export type Obstacle = z.infer<typeof obstacleShape>

/** A run by itself. */
const runShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  agent_id: z.string(),
  agent: z.string(),
  input: jsonValue,
  mode: z.enum(runModes),
  interactive_require_user_reply: z.boolean(),
  status: runStatus,
  since: z.int(),
  is_terminal: z.boolean(),
  attempt: z.int(),
  submitted_at: z.int(),
  current_line: z.string(),
  /** The reason why a queued run is not taken; null if a worker may take it, or has. */
  held_up_by: obstacleShape.nullable(),
  /** It is running, and its process is gone: nothing happens until a process that works takes it. */
  is_abandoned: z.boolean(),
  pending_interaction_ids: z.array(z.string()).readonly(),
  used: usedShape,
  budget: budget.nullable(),
  /** A run that is not public has no result here, and no content in any stream. */
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
const resultShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  status: runStatus,
  result: jsonValue.nullable(),
  error_code: z.string().nullable(),
  message: z.string().nullable(),
})

/** The outcome of a request to stop or steer. */
const stoppedShape = z.object({
  run_id: z.string(),
  status: z.string(),
  /** False: it was over before. */
  accepted: z.boolean(),
})

/** The endpoints of runs. */
export const runEndpoints = {
  listRuns: endpoint('list_runs', 'GET /api/runs', {
    query: z.strictObject({ ...pageQuery, status: runStatus.optional() }),
    returns: pageOf(listedRunShape),
  }),
  getRun: endpoint('get_run', 'GET /api/runs/{run_id}', { returns: runShape }),
  runResult: endpoint('run_result', 'GET /api/runs/{run_id}/result', { returns: resultShape }),
  runInteraction: endpoint('run_interaction', 'GET /api/runs/{run_id}/interaction', {
    returns: z.object({
      run_id: z.string(),
      session_id: z.string(),
      status: runStatus,
      pending_interaction_id: z.string().nullable(),
      interactions: z.array(interactionShape),
    }),
  }),
  runTrace: endpoint('run_trace', 'GET /api/runs/{run_id}/trace', {
    returns: z.object({ run_id: z.string(), session_id: z.string(), steps: z.array(stepShape) }),
  }),
  runHistory: endpoint('run_history', 'GET /api/runs/{run_id}/events/history', {
    query: z.strictObject({
      /** Only events with a greater number. */
      after: count(z.int().nonnegative()).prefault(0),
      /** The `next_cursor` of the page before, instead of `after`. */
      cursor: count(z.int().nonnegative()).optional(),
      limit: count(z.int().min(1).max(1_000)).prefault(1_000),
    }),
    returns: pageOf(fcmpEvent),
  }),
  submitRun: endpoint('submit_run', 'POST /api/runs', { body: submissionBody, returns: submittedShape }),
  replyRun: endpoint('reply_run', 'POST /api/runs/{run_id}/interaction/reply', {
    body: z.strictObject({
      interaction_id: id.optional(),
      reply: jsonValue,
      replied_by: repliedBy,
      expected_waiting: expectedWaiting,
    }),
    returns: repliedShape,
  }),
  steerRun: endpoint('steer_run', 'POST /api/runs/{run_id}/steer', {
    body: z.strictObject({ input: jsonValue }),
    returns: stoppedShape,
  }),
  interruptRun: endpoint('interrupt_run', 'POST /api/runs/{run_id}/interrupt', { body: why, returns: stoppedShape }),
  cancelRun: endpoint('cancel_run', 'POST /api/runs/{run_id}/cancel', { body: why, returns: stoppedShape }),
}

/** The endpoints of agents. */
export const agentEndpoints = {
  listAgents: endpoint('list_agents', 'GET /api/agents', {
    returns: z.object({ items: z.array(agentShape).readonly() }),
  }),
  spawnAgent: endpoint('spawn_agent', 'POST /api/sessions/{session_id}/agents', {
    body: z.strictObject({
      agent: z.string().min(1).max(200),
      parent_id: id.optional(),
      /** Instead of the one that the agent is declared with. */
      budget: budget.optional(),
    }),
    returns: z.object({ session_id: z.string(), agent_id: z.string() }),
  }),
  killAgent: endpoint('kill_agent', 'POST /api/agents/{agent_id}/kill', {
    body: z.strictObject({ reason, force: z.boolean().optional() }),
    returns: z.object({ agent_id: z.string(), state: z.literal('terminated') }),
  }),
  listMemory: endpoint('list_memory', 'GET /api/sessions/{session_id}/memory', {
    query: z.strictObject({
      /** Only what this agent remembers. */
      agent_id: id.optional(),
      limit: count(z.int().min(1).max(1_000)).prefault(200),
      /** The `next_cursor` of the page before. */
      cursor: count(z.int().nonnegative()).prefault(0),
    }),
    returns: pageOf(memoryFactShape),
  }),
}
