import { faults } from '../../faults/catalogue.ts'
import { isTerminal, stateNames } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { durations } from '../../observation/durations.ts'
import { createFcmp } from '../../observation/fcmp.ts'
import { executionTrace } from '../../observation/graph-state.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import { sayLeft } from '../../observation/unsettled.ts'
import { mergedRows, type RecordedRequest, subjects } from '../../runelog/models.ts'
import { inSlices } from '../../runelog/slices.ts'
import { waitingRuns } from '../../runtime/models/open-work.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import type { ExecutionStep } from '../../wire/contract.ts'
import type { FcmpEvent } from '../../wire/fcmp.ts'
import { runEndpoints } from '../../wire/run.ts'
import { runStatus } from '../../wire/session.ts'
import type { Backend } from '../backend.ts'
import { interactionCard, leftIn } from '../cards.ts'
import { defineOperation, pageAsked, paged, requestKey } from '../operation.ts'
import { findRun, openQuestions } from '../session-views.ts'

/** Lists runs. */
export const listRuns = defineOperation({
  ...runEndpoints.listRuns,
  summary: 'Runs of all sessions, the one that moved last first.',
  async run(backend, { query: { limit, cursor, status } }) {
    const { runelog } = backend
    const page = { backward: true, ...pageAsked('list_runs', { limit, cursor }) }
    const tags = (status === undefined ? stateNames(runMachine) : [status]).map((state) => `run:${state}`)
    const { shown, next_cursor } = paged(await mergedRows(runelog, subjects, tags, page), limit)
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
    return { items: await Promise.all(items), next_cursor }
  },
})

/** Reads where a run stands. */
export const getRun = defineOperation({
  ...runEndpoints.getRun,
  summary: 'The state of one run and its open questions.',
  async run(backend, { params: { run_id } }) {
    const found = await findRun(backend, run_id)
    const { run, session_id, view } = found
    const moves = view.steps.filter((rune) => rune.machine === 'run' && rune.subject_id === run_id)
    const submitted_at = moves[0]?.at ?? 0
    const left = run.status === 'running' ? await leftIn(backend, session_id) : undefined
    const is_abandoned = left?.run_ids.has(run_id) === true
    const ownUnsettled = left?.unsettled.filter((call) => call.run_id === run_id).length ?? 0
    const { agent_id, agent, input, mode, strict, status, attempt } = run
    const { used, budget, visibility, result, error_code, message } = run
    return {
      ...{ run_id, session_id, agent_id, agent, input, mode, interactive_require_user_reply: strict, status },
      since: moves.findLast((rune) => rune.from !== rune.to)?.at ?? submitted_at,
      is_terminal: isTerminal(runMachine, status),
      attempt,
      submitted_at,
      current_line: is_abandoned ? sayLeft(run_id, ownUnsettled) : view.lines.runLine(run_id, backend.now()),
      held_up_by: status === 'queued' ? obstacleTo(view.state, run) : null,
      is_abandoned,
      pending_interaction_ids: openQuestions(found),
      used: { ...used },
      ...{ budget, visibility, result, error_code, message },
      durations: durations(moves, run_id, backend.now()),
      event_id: view.state.event_id,
    }
  },
})

/** Reads the outcome of a run. */
export const runResult = defineOperation({
  ...runEndpoints.runResult,
  summary: 'The outcome of a run. Refused while it is not over.',
  async run(backend, { params: { run_id } }) {
    const { run, session_id, view } = await findRun(backend, run_id)
    const { status, result, error_code, message } = run
    if (!isTerminal(runMachine, status)) {
      const obstacle = status === 'queued' ? obstacleTo(view.state, run) : null
      throw faults.run_not_over({ run_id, status, ...(obstacle !== null && { because: obstacle.says }) })
    }
    return { run_id, session_id, status, result, error_code, message }
  },
})

/** Lists what a run waits for. */
export const runInteraction = defineOperation({
  ...runEndpoints.runInteraction,
  summary: 'The open questions of a run, oldest first.',
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
  ...runEndpoints.runTrace,
  summary: 'The acts on the contracts of a run, oldest first.',
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
  ...runEndpoints.runHistory,
  summary: 'The conversation of a run so far (FCMP), by the number of its events.',
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

/** Submits a run. */
export const submitRun = defineOperation({
  ...runEndpoints.submitRun,
  scope: 'operate',
  summary: 'Give an agent a job, in a session that exists or in a new one. Answers once it is recorded.',
  key_is_recorded: true,
  async run(backend, asked) {
    const { runs } = await backend.commands()
    const submission = asOptions({ ...asked.body, idempotency_key: requestKey('submit_run', asked) })
    const { sessionId, runId, isRepeated } = await runs.start(submission)
    return asRecord({ sessionId, runId, isRepeated })
  },
})

/** Replies to a run. */
export const replyRun = defineOperation({
  ...runEndpoints.replyRun,
  scope: 'approve',
  summary: 'Answer the question of a run. If several are open, name one.',
  key_is_recorded: true,
  async run(backend, { params: { run_id }, body, idempotency_key, by }) {
    const interaction_id = body.interaction_id ?? (await onlyQuestion(backend, run_id, idempotency_key))
    if (body.interaction_id !== undefined) await refuseForeign(backend, run_id, body.interaction_id)
    const commands = await backend.commands()
    const { reply, replied_by = by, expected_waiting } = body
    const given = { reply, replied_by, expected_waiting, idempotency_key: idempotency_key ?? undefined }
    return asRecord(await commands.inbox.reply(interaction_id, asOptions(given)))
  },
})

/** The question that a reply without a name is for: the one that is open, or the one that this key answered before. */
async function onlyQuestion(backend: Backend, run_id: string, key: string | null): Promise<string> {
  const found = await findRun(backend, run_id)
  const answered = found.view.steps.findLast(
    (rune) => rune.kind === 'interaction.answered' && rune.run_id === run_id && rune.payload.idempotency_key === key,
  )
  if (key !== null && answered?.interaction_id !== undefined) return answered.interaction_id
  const open = openQuestions(found)
  const [first] = open
  if (first === undefined || open.length > 1) throw faults.question_unclear({ run_id, open })
  return first
}

async function refuseForeign(backend: Backend, run_id: string, interaction_id: string) {
  const { view } = await findRun(backend, run_id)
  if (!view.steps.some((rune) => rune.interaction_id === interaction_id && rune.run_id === run_id))
    throw faults.not_found({ what: `interaction of ${run_id}`, id: interaction_id })
}

/** A repeated request to stop gets the same answer: where the run stood when the request was recorded. */
const stopping = {
  scope: 'operate',
  async repeat({ runelog }: Backend, { params: { run_id } }: AboutRun, { session_id, event_id }: RecordedRequest) {
    const runes = await runelog.read(session_id, { after: event_id - 1, limit: 1_000 })
    const move = runes.find((rune) => rune.machine === 'run' && rune.subject_id === run_id)
    return { run_id, status: runStatus.parse(move?.from), accepted: true }
  },
} as const

type AboutRun = { readonly params: { readonly run_id: string } }

/** Gives a run new input. */
export const steerRun = defineOperation({
  ...runEndpoints.steerRun,
  ...stopping,
  summary: 'Give a run new input: its turn ends at a safe boundary, and the next one begins with it.',
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.steer(params.run_id, body.input)),
})

/** Stops a run after the effects under way. */
export const interruptRun = defineOperation({
  ...runEndpoints.interruptRun,
  ...stopping,
  summary: 'Stop a run once the effects under way are finished.',
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.interrupt(params.run_id, body.reason)),
})

/** Cancels a run at once. */
export const cancelRun = defineOperation({
  ...runEndpoints.cancelRun,
  ...stopping,
  summary: 'Stop a run now and abort what is under way.',
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.cancel(params.run_id, body.reason)),
})
