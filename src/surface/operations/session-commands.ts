import { faults } from '../../faults/catalogue.ts'
import { sessions } from '../../runelog/models.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { sessionEndpoints } from '../../wire/session.ts'
import type { Backend } from '../backend.ts'
import type { Sessions } from '../library.ts'
import { defineOperation, requestKey } from '../operation.ts'

/** Submits the next message of a session. */
export const sendMessage = defineOperation({
  ...sessionEndpoints.sendMessage,
  scope: 'operate',
  summary: 'Give a session its next message, as a run of one of its agents; without a name, of its root agent.',
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
  ...sessionEndpoints.pauseSession,
  scope: 'operate',
  summary: 'Let no new turn begin. What is under way comes to its end; replies are still taken.',
  run: (backend, { params: { session_id }, body }) =>
    move(backend, session_id, (sessions) => sessions.pause(session_id, body.reason)),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'paused' }),
})

/** Resumes a session. */
export const resumeSession = defineOperation({
  ...sessionEndpoints.resumeSession,
  scope: 'operate',
  summary:
    'Bring back a session that was paused; or suspended by its budget, with a new one; or by its errors, with reset.',
  run: (backend, { params: { session_id }, body: { budget, reset, reason } }) =>
    move(backend, session_id, (sessions) => {
      if (budget !== undefined) return sessions.replenish(session_id, asOptions(budget), reason)
      return reset === true ? sessions.reset(session_id, reason) : sessions.resume(session_id, reason)
    }),
  repeat: async (_backend, { params: { session_id } }) => ({ session_id, state: 'active' }),
})

/** Closes a session and seals its log. */
export const closeSession = defineOperation({
  ...sessionEndpoints.closeSession,
  scope: 'operate',
  summary: 'Cancel what is open, terminate the agents and seal the log.',
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
  ...sessionEndpoints.archiveSession,
  scope: 'operate',
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
  ...sessionEndpoints.allowAgain,
  scope: 'approve',
  summary: 'Allow a completed irreversible action once more. The next call for it gets a new idempotency key.',
  async run(backend, { params: { execution_id }, by: allowed_by }) {
    await (await backend.commands()).executions.allowAgain(execution_id, allowed_by)
    return { execution_id, allowed_by }
  },
  repeat: async (_backend, { params: { execution_id }, by: allowed_by }) => ({ execution_id, allowed_by }),
})

/** Erases the content of a rune. */
export const redactRune = defineOperation({
  ...sessionEndpoints.redactRune,
  scope: 'admin',
  summary: 'Erase the content of one rune for good, and record that. The chain still verifies.',
  erases: true,
  async run(backend, { params: { session_id, event_id }, body, by }) {
    await (await backend.commands()).sessions.redact(session_id, event_id, body.reason, by)
    return { session_id, event_id }
  },
  repeat: async (_backend, { params: { session_id, event_id } }) => ({ session_id, event_id }),
})
