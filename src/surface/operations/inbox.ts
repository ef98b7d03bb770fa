import { z } from 'zod'
import { printable } from '../../kernel/printable.ts'
import { notPublic } from '../../observation/visible.ts'
import { mergedRows } from '../../runelog/queries.ts'
import { jsonValue } from '../../runes/json-value.ts'
import { openInteractions } from '../../runtime/models/open-work.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { pageQuery } from '../../wire/common.ts'
import {
  expectedWaiting,
  interactionShape,
  openInteractionShape,
  repliedShape,
  unsettledShape,
} from '../../wire/interaction.ts'
import { interactionCard } from '../interaction-card.ts'
import { type Asked, allows, cursorAt, defineOperation, readCursor } from '../operation.ts'
import { leftBehind } from '../summary-card.ts'

const replied_by = z.string().trim().min(1).max(200).optional()
const signed = { replied_by, expected_waiting: expectedWaiting }

/** Lists what waits for a person. */
export const listInbox = defineOperation({
  name: 'list_inbox',
  route: 'GET /api/inbox',
  scope: 'read',
  summary:
    'Everything that waits for a person, oldest first. The first page also names calls whose process is gone and whose outcome is unknown: they become questions when a process that works takes their run.',
  query: z.strictObject(pageQuery),
  returns: z.object({
    items: z.array(openInteractionShape),
    next_cursor: z.string().nullable(),
    unsettled: z.array(unsettledShape),
  }),
  async run(backend, { query: { limit, cursor }, scope }) {
    const { runelog } = backend
    const titleOf = async (session_id: string) => (await runelog.row(summaries, session_id))?.value.title ?? null
    const after = readCursor('list_inbox', cursor)
    const page = { limit: limit + 1, ...(after !== undefined && { after }) }
    const rows = await mergedRows(runelog, openInteractions, ['open', 'due'], page)
    const shown = rows.slice(0, limit)
    const items = shown.map(async ({ value }) => {
      const open = value
      const prompt = open.visibility === 'public' || allows(scope, 'approve') ? printable(open.prompt) : notPublic
      return { ...open, prompt, title: await titleOf(open.session_id) }
    })
    const last = shown.at(-1)
    const next_cursor = rows.length > limit && last !== undefined ? cursorAt(last) : null
    const left = after === undefined ? [...(await leftBehind(backend, () => true)).values()] : []
    const unsettled = left
      .flatMap((one) => one.unsettled)
      .map(async (call) => ({
        ...call,
        action_summary: printable(call.action_summary),
        title: await titleOf(call.session_id),
      }))
    return { items: await Promise.all(items), next_cursor, unsettled: await Promise.all(unsettled) }
  },
})

/** Reads one interaction. */
export const getInteraction = defineOperation({
  name: 'get_interaction',
  route: 'GET /api/interactions/{interaction_id}',
  scope: 'read',
  summary: 'All that a person has to see before answering, and what became of it.',
  returns: interactionShape,
  run: (backend, { params, scope }) => interactionCard(backend, params.interaction_id, scope),
})

/** Approves an action. */
export const approve = defineOperation({
  name: 'approve',
  route: 'POST /api/interactions/{interaction_id}/approve',
  scope: 'approve',
  summary:
    'Let the action be carried out: exactly what was shown. What cannot be undone needs the digest that the interaction shows. The digest covers tool, definition, arguments and policy, so equal calls have the same one, in other sessions too; the id says which of them is approved.',
  body: z.strictObject({ digest: z.string().max(200).optional(), ...signed }),
  returns: repliedShape,
  key_is_recorded: true,
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    const { digest } = asked.body
    return asRecord(await inbox.approve(asked.params.interaction_id, asOptions({ digest, ...signedBy(asked) })))
  },
})

/** Denies an action. */
export const deny = defineOperation({
  name: 'deny',
  route: 'POST /api/interactions/{interaction_id}/deny',
  scope: 'approve',
  summary: 'Do not let the action be carried out, and say why; the agent is told.',
  body: z.strictObject({ reason: z.string().max(10_000).optional(), ...signed }),
  returns: repliedShape,
  key_is_recorded: true,
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    const { reason } = asked.body
    return asRecord(await inbox.deny(asked.params.interaction_id, asOptions({ reason, ...signedBy(asked) })))
  },
})

/** Answers a form or a question. */
export const answer = defineOperation({
  name: 'answer',
  route: 'POST /api/interactions/{interaction_id}/answer',
  scope: 'approve',
  summary: 'Answer a form, a question, or anything else that its request describes.',
  body: z.strictObject({
    /** For a form: `{ action: approve | edit | reject, data }`; for a question: `{ answer }`. */
    reply: jsonValue,
    ...signed,
  }),
  returns: repliedShape,
  key_is_recorded: true,
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    return asRecord(await inbox.answer(asked.params.interaction_id, asked.body.reply, asOptions(signedBy(asked))))
  },
})

/** Settles an unknown outcome. */
export const settle = defineOperation({
  name: 'settle',
  route: 'POST /api/interactions/{interaction_id}/settle',
  scope: 'approve',
  summary:
    'Say what became of an action whose outcome is unknown. `did_not_happen` is another word for `did_not`. `leave` settles nothing: the run that waits for the answer ends as failed with OUTCOME_UNKNOWN, and the question is asked again under another id.',
  body: z.strictObject({
    outcome: z.enum(['happened', 'did_not', 'leave', 'did_not_happen']),
    result: jsonValue.optional(),
    reason: z.string().max(10_000).optional(),
    ...signed,
  }),
  returns: repliedShape,
  key_is_recorded: true,
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    const { result, reason } = asked.body
    const outcome = asked.body.outcome === 'did_not_happen' ? 'did_not' : asked.body.outcome
    return asRecord(
      await inbox.settle(asked.params.interaction_id, asOptions({ outcome, result, reason, ...signedBy(asked) })),
    )
  },
})

interface Signed {
  readonly replied_by?: string | undefined
  readonly expected_waiting?: readonly string[] | undefined
}

/** The fields of a reply that every kind has. A server signs with the name of the token where the body names no person. */
function signedBy({ body, idempotency_key, by }: Asked<unknown, unknown, Signed>) {
  const { replied_by = by, expected_waiting } = body
  return { replied_by, expected_waiting, idempotency_key: idempotency_key ?? undefined }
}
