import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { stateNames } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { durations } from '../../observation/durations.ts'
import { createFcmp } from '../../observation/fcmp.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import { executionTrace } from '../../observation/timeline.ts'
import { sayLeft } from '../../observation/unsettled.ts'
import { subjects } from '../../runelog/models.ts'
import { mergedRows } from '../../runelog/queries.ts'
import { inSlices } from '../../runelog/slices.ts'
import { waitingRuns } from '../../runtime/models/open-work.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import { count, pageOf, pageQuery } from '../../wire/common.ts'
import { type ExecutionStep, stepShape } from '../../wire/contract.ts'
import { type FcmpEvent, fcmpEvent } from '../../wire/fcmp.ts'
import { interactionShape } from '../../wire/interaction.ts'
import { listedRunShape, resultShape, runShape } from '../../wire/run.ts'
import { runStatus } from '../../wire/session.ts'
import { interactionCard } from '../interaction-card.ts'
import { cursorAt, defineOperation, readCursor } from '../operation.ts'
import { findRun, openQuestions } from '../session-views.ts'
import { leftBehind } from '../summary-card.ts'

/** Lists runs. */
export const listRuns = defineOperation({
  name: 'list_runs',
  route: 'GET /api/runs',
  scope: 'read',
  summary: 'Runs of all sessions, the one that moved last first.',
  query: z.strictObject({ ...pageQuery, status: runStatus.optional() }),
  returns: pageOf(listedRunShape),
  async run(backend, { query: { limit, cursor, status } }) {
    const { runelog } = backend
    const after = readCursor('list_runs', cursor)
    const page = { backward: true, limit: limit + 1, ...(after !== undefined && { after }) }
    const tags = (status === undefined ? stateNames(runMachine) : [status]).map((state) => `run:${state}`)
    const rows = await mergedRows(runelog, subjects, tags, page)
    const shown = rows.slice(0, limit)
    const isRunning = shown.some(({ value }) => value.state === 'running')
    const abandoned = new Set(isRunning ? (await backend.abandoned()).map(({ run_id }) => run_id) : [])
    const items = shown.map(async ({ key, sort, value }) => {
      const { session_id, state } = value
      const [summary, run] = await Promise.all([runelog.row(summaries, session_id), runelog.row(waitingRuns, key)])
      const { title = null } = summary?.value ?? {}
      const { agent = null } = run?.value ?? {}
      const is_abandoned = abandoned.has(key)
      return { run_id: key, session_id, status: runStatus.parse(state), since: sort ?? 0, title, agent, is_abandoned }
    })
    const last = shown.at(-1)
    const next_cursor = rows.length > limit && last !== undefined ? cursorAt(last) : null
    return { items: await Promise.all(items), next_cursor }
  },
})

/** Reads where a run stands. */
export const getRun = defineOperation({
  name: 'get_run',
  route: 'GET /api/runs/{run_id}',
  scope: 'read',
  summary: 'Where one run stands and what it waits for.',
  returns: runShape,
  async run(backend, { params: { run_id } }) {
    const found = await findRun(backend, run_id)
    const { run, session_id, view } = found
    const moves = view.steps.filter((rune) => rune.machine === 'run' && rune.subject_id === run_id)
    const submitted_at = moves[0]?.at ?? 0
    const left = run.status === 'running' ? await leftBehind(backend, (id) => id === session_id) : undefined
    const { run_ids, unsettled = [] } = left?.get(session_id) ?? {}
    const is_abandoned = run_ids?.has(run_id) === true
    const ownUnsettled = unsettled.filter((call) => call.run_id === run_id).length
    const {
      agent_id,
      agent,
      input,
      mode,
      strict,
      status,
      attempt,
      used,
      budget,
      visibility,
      result,
      error_code,
      message,
    } = run
    return {
      run_id,
      session_id,
      agent_id,
      agent,
      input,
      mode,
      interactive_require_user_reply: strict,
      status,
      since: moves.findLast((rune) => rune.from !== rune.to)?.at ?? submitted_at,
      is_terminal: 'terminal' in runMachine.states[status],
      attempt,
      submitted_at,
      current_line: is_abandoned ? sayLeft(run_id, ownUnsettled) : view.lines.runLine(run_id, backend.now()),
      held_up_by: status === 'queued' ? obstacleTo(view.state, run) : null,
      is_abandoned,
      pending_interaction_ids: openQuestions(found),
      used: { ...used },
      budget,
      visibility,
      result,
      error_code,
      message,
      durations: durations(moves, run_id, backend.now()),
      event_id: view.state.event_id,
    }
  },
})

/** Reads the outcome of a run. */
export const runResult = defineOperation({
  name: 'run_result',
  route: 'GET /api/runs/{run_id}/result',
  scope: 'read',
  summary: 'The outcome of a run. Refused while it is not over.',
  returns: resultShape,
  async run(backend, { params: { run_id } }) {
    const { run, session_id, view } = await findRun(backend, run_id)
    const { status, result, error_code, message } = run
    if (!('terminal' in runMachine.states[status])) {
      const obstacle = status === 'queued' ? obstacleTo(view.state, run) : null
      throw faults.run_not_over({ run_id, status, ...(obstacle !== null && { because: obstacle.says }) })
    }
    return { run_id, session_id, status, result, error_code, message }
  },
})

/** Lists what a run waits for. */
export const runInteraction = defineOperation({
  name: 'run_interaction',
  route: 'GET /api/runs/{run_id}/interaction',
  scope: 'read',
  summary: 'What a run waits for a person to say, oldest first.',
  returns: z.object({
    run_id: z.string(),
    session_id: z.string(),
    status: runStatus,
    pending_interaction_id: z.string().nullable(),
    interactions: z.array(interactionShape),
  }),
  async run(backend, { params: { run_id }, scope }) {
    const found = await findRun(backend, run_id)
    const open = openQuestions(found)
    return {
      run_id,
      session_id: found.session_id,
      status: found.run.status,
      pending_interaction_id: open[0] ?? null,
      interactions: await Promise.all(open.map((id) => interactionCard(backend, id, scope))),
    }
  },
})

/** Lists what was done to the contracts of a run. */
export const runTrace = defineOperation({
  name: 'run_trace',
  route: 'GET /api/runs/{run_id}/trace',
  scope: 'read',
  summary: 'What was done to the contracts of a run, oldest first.',
  returns: z.object({ run_id: z.string(), session_id: z.string(), steps: z.array(stepShape) }),
  async run(backend, { params: { run_id } }) {
    const { view, session_id } = await findRun(backend, run_id)
    const irreversible = new Map<string, boolean>()
    const steps: ExecutionStep[] = []
    for await (const slice of inSlices(view.steps)) {
      const own = slice.filter((rune) => rune.run_id === run_id)
      for (const step of executionTrace(own, irreversible)) steps.push(step)
    }
    return { run_id, session_id, steps }
  },
})

/** Reads the FCMP events of a run. */
export const runHistory = defineOperation({
  name: 'run_history',
  route: 'GET /api/runs/{run_id}/events/history',
  scope: 'read',
  summary: 'The conversation of a run so far (FCMP), by the number of its events.',
  query: z.strictObject({
    /** Only events with a greater number. */
    after: count(z.int().nonnegative()).prefault(0),
    /** The `next_cursor` of the page before, instead of `after`. */
    cursor: count(z.int().nonnegative()).optional(),
    limit: count(z.int().min(1).max(1_000)).prefault(1_000),
  }),
  returns: pageOf(fcmpEvent),
  async run(backend, { params: { run_id }, query: { after, cursor = after, limit } }) {
    const { view } = await findRun(backend, run_id)
    const fcmp = createFcmp(run_id)
    const events: FcmpEvent[] = []
    for await (const slice of inSlices(view.steps))
      for (const rune of slice) for (const event of fcmp.fold(rune)) events.push(event)
    const items = events.slice(cursor, cursor + limit)
    const last = items.at(-1)?.seq ?? cursor
    return { items, next_cursor: last < events.length ? String(last) : null }
  },
})
