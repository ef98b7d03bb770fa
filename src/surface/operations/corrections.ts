import { z } from 'zod'
import { count, id } from '../../wire/common.ts'
import { defineOperation } from '../operation.ts'

export const allowAgain = defineOperation({
  name: 'allow_again',
  route: 'POST /api/execution/{execution_id}/allow-again',
  scope: 'approve',
  summary: 'Let an irreversible action that was done be done once more. The next call for it gets a key of its own.',
  returns: z.object({ execution_id: z.string(), allowed_by: z.string() }),
  async run(backend, { params: { execution_id }, by: allowed_by }) {
    await (await backend.commands()).allowAgain(execution_id, allowed_by)
    return { execution_id, allowed_by }
  },
  repeat: async (_backend, { params: { execution_id }, by: allowed_by }) => ({ execution_id, allowed_by }),
})

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
    await (await backend.commands()).redact(session_id, event_id, body.reason, by)
    return { session_id, event_id }
  },
  repeat: async (_backend, { params: { session_id, event_id } }) => ({ session_id, event_id }),
})
