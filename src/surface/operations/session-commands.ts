import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { sessions } from '../../runelog/models.ts'
import { budget, jsonValue } from '../../runes/kinds.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { count, id } from '../../wire/common.ts'
import { sessionState } from '../../wire/session.ts'
import type { Backend } from '../backend.ts'
import type { Sessions } from '../library.ts'
import { defineOperation, reason, requestKey } from '../operation.ts'

const why = z.strictObject({ reason })
/** Operations that move a session return its new state. */
const moving = { scope: 'operate', returns: z.object({ session_id: z.string(), state: sessionState }) } as const

/** Submits the next message of a session. */
export const sendMessage = defineOperation({
  name: 'send_message',
  route: 'POST /api/sessions/{session_id}/messages',
  scope: 'operate',
  summary: 'Give a session its next message, as a run of one of its agents; without a name, of its root agent.',
  body: z.strictObject({
    input: jsonValue,
    agent: z.string().min(1).max(200).optional(),
    agent_id: id.optional(),
    mode: z.enum(['interactive', 'auto']).optional(),
    interactive_require_user_reply: z.boolean().optional(),
    budget: budget.optional(),
  }),
  returns: z.object({ session_id: z.string(), run_id: z.string(), is_repeated: z.boolean() }),
  key_is_recorded: true,
  async run(backend, asked) {
    const { session_id } = asked.params
    const agent = asked.body.agent ?? (await rootAgent(backend, session_id))
    const commands = await backend.commands()
    const { runId, isRepeated } = await commands.runs.start(
      asOptions({ ...asked.body, agent, session_id, idempotency_key: requestKey('send_message', asked) }),
    )
    return { session_id, ...asRecord({ runId, isRepeated }) }
  },
})

async function rootAgent({ views }: Backend, session_id: string): Promise<string> {
  const { state } = await views.of(session_id)
  return state.agents.get(state.root_agent_id)?.agent ?? ''
}

/** Pauses a session. */
export const pauseSession = defineOperation({
  ...moving,
  name: 'pause_session',
  route: 'POST /api/sessions/{session_id}/pause',
  summary: 'Let no new turn begin. What is under way comes to its end; replies are still taken.',
  body: why,
  run: (backend, { params: { session_id }, body }) =>
    move(backend, session_id, (sessions) => sessions.pause(session_id, body.reason)),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'paused' }),
})

/** Resumes a session. */
export const resumeSession = defineOperation({
  ...moving,
  name: 'resume_session',
  route: 'POST /api/sessions/{session_id}/resume',
  summary:
    'Bring back a session that was paused; or suspended by its budget, with a new one; or by its errors, with reset.',
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
  run: (backend, { params: { session_id }, body: { budget, reset, reason } }) =>
    move(backend, session_id, (sessions) => {
      if (budget !== undefined) return sessions.replenish(session_id, asOptions(budget), reason)
      return reset === true ? sessions.reset(session_id, reason) : sessions.resume(session_id, reason)
    }),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'active' }),
})

/** Closes a session and seals its log. */
export const closeSession = defineOperation({
  ...moving,
  name: 'close_session',
  route: 'POST /api/sessions/{session_id}/close',
  summary: 'Cancel what is open, terminate the agents and seal the log.',
  body: why,
  run: (backend, { params: { session_id }, body }) =>
    move(backend, session_id, (sessions) => sessions.close(session_id, body.reason)),
  async repeat(backend, { params: { session_id }, body }) {
    const { state } = await standing(backend, session_id)
    if (state === 'closing') await (await backend.commands()).sessions.close(session_id, body.reason)
    return { session_id, state: 'closed' }
  },
})

/** Archives the log of a closed session. */
export const archiveSession = defineOperation({
  ...moving,
  name: 'archive_session',
  route: 'POST /api/sessions/{session_id}/archive',
  summary: 'Move the log of a closed session to cold storage, where it stays readable.',
  run: (backend, { params: { session_id } }) => move(backend, session_id, (sessions) => sessions.archive(session_id)),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'archived' }),
})

async function move(backend: Backend, session_id: string, act: (sessions: Sessions) => Promise<void>) {
  await act((await backend.commands()).sessions)
  return standing(backend, session_id)
}

async function standing({ runelog }: Backend, session_id: string) {
  const row = (await runelog.row(sessions, session_id))?.value
  if (row === undefined) throw faults.not_found({ what: 'session', id: session_id })
  return { session_id, state: row.state }
}

/** Allows a completed irreversible action once more. */
export const allowAgain = defineOperation({
  name: 'allow_again',
  route: 'POST /api/execution/{execution_id}/allow-again',
  scope: 'approve',
  summary: 'Allow a completed irreversible action once more. The next call for it gets a new idempotency key.',
  returns: z.object({ execution_id: z.string(), allowed_by: z.string() }),
  async run(backend, { params: { execution_id }, by: allowed_by }) {
    await (await backend.commands()).executions.allowAgain(execution_id, allowed_by)
    return { execution_id, allowed_by }
  },
  repeat: async (_backend, { params: { execution_id }, by: allowed_by }) => ({ execution_id, allowed_by }),
})

/** Erases the content of a rune. */
export const redactRune = defineOperation({
  name: 'redact_rune',
  route: 'POST /api/sessions/{session_id}/runes/{event_id}/redact',
  scope: 'admin',
  summary: 'Erase the content of one rune for good, and record that. The chain still verifies.',
  params: z.object({ session_id: id, event_id: count(z.int().positive()) }),
  body: z.strictObject({ reason: z.string().trim().min(1).max(10_000) }),
  returns: z.object({ session_id: z.string(), event_id: z.int() }),
  erases: true,
  async run(backend, { params: { session_id, event_id }, body, by }) {
    await (await backend.commands()).sessions.redact(session_id, event_id, body.reason, by)
    return { session_id, event_id }
  },
  repeat: async (_backend, { params: { session_id, event_id } }) => ({ session_id, event_id }),
})
