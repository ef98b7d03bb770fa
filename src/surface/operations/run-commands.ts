import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { RecordedRequest } from '../../runelog/models.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { id } from '../../wire/common.ts'
import { expectedWaiting, repliedShape } from '../../wire/interaction.ts'
import { stoppedShape, submissionBody, submittedShape } from '../../wire/run.ts'
import { runStatus } from '../../wire/session.ts'
import type { Backend } from '../backend.ts'
import { defineOperation, requestKey } from '../operation.ts'
import { findRun, openQuestions } from '../session-views.ts'

const why = z.strictObject({ reason: z.string().max(10_000).optional() })

/** Submits a run. */
export const submitRun = defineOperation({
  name: 'submit_run',
  route: 'POST /api/runs',
  scope: 'operate',
  summary: 'Give an agent a job, in a session that exists or in a new one. Answers once it is recorded.',
  body: submissionBody,
  returns: submittedShape,
  key_is_recorded: true,
  async run(backend, asked) {
    const commands = await backend.commands()
    const { sessionId, runId, isRepeated } = await commands.runs.start(
      asOptions({ ...asked.body, idempotency_key: requestKey('submit_run', asked) }),
    )
    return asRecord({ sessionId, runId, isRepeated })
  },
})

/** Replies to a run. */
export const replyRun = defineOperation({
  name: 'reply_run',
  route: 'POST /api/runs/{run_id}/interaction/reply',
  scope: 'approve',
  summary: 'Answer what a run waits for. Where it asks several things at once, name which.',
  body: z.strictObject({
    interaction_id: id.optional(),
    reply: jsonValue,
    replied_by: z.string().trim().min(1).max(200).optional(),
    expected_waiting: expectedWaiting,
  }),
  returns: repliedShape,
  key_is_recorded: true,
  async run(backend, { params: { run_id }, body, idempotency_key, by }) {
    const interaction_id = body.interaction_id ?? (await onlyQuestion(backend, run_id, idempotency_key))
    if (body.interaction_id !== undefined) await refuseForeign(backend, run_id, body.interaction_id)
    const commands = await backend.commands()
    const { reply, replied_by = by, expected_waiting } = body
    const key = idempotency_key ?? undefined
    const given = { reply, replied_by, expected_waiting, idempotency_key: key }
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

/** Where the run stood when the request was recorded, as it was told then. */
async function stoppedBefore({ runelog }: Backend, run_id: string, { session_id, event_id }: RecordedRequest) {
  const runes = await runelog.read(session_id, { after: event_id - 1, limit: 1_000 })
  const move = runes.find((rune) => rune.machine === 'run' && rune.subject_id === run_id)
  return { run_id, status: runStatus.parse(move?.from), accepted: true }
}

/** Gives a run new input. */
export const steerRun = defineOperation({
  name: 'steer_run',
  route: 'POST /api/runs/{run_id}/steer',
  scope: 'operate',
  summary: 'Give a run new input: its turn ends at a safe boundary, and the next one begins with it.',
  body: z.strictObject({ input: jsonValue }),
  returns: stoppedShape,
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.steer(params.run_id, body.input)),
  repeat: (backend, { params }, recorded) => stoppedBefore(backend, params.run_id, recorded),
})

/** Stops a run after the effects under way. */
export const interruptRun = defineOperation({
  name: 'interrupt_run',
  route: 'POST /api/runs/{run_id}/interrupt',
  scope: 'operate',
  summary: 'Stop a run once the effects under way are finished.',
  body: why,
  returns: stoppedShape,
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.interrupt(params.run_id, body.reason)),
  repeat: (backend, { params }, recorded) => stoppedBefore(backend, params.run_id, recorded),
})

/** Cancels a run at once. */
export const cancelRun = defineOperation({
  name: 'cancel_run',
  route: 'POST /api/runs/{run_id}/cancel',
  scope: 'operate',
  summary: 'Stop a run now and abort what is under way.',
  body: why,
  returns: stoppedShape,
  run: async (backend, { params, body }) =>
    asRecord(await (await backend.commands()).runs.cancel(params.run_id, body.reason)),
  repeat: (backend, { params }, recorded) => stoppedBefore(backend, params.run_id, recorded),
})
