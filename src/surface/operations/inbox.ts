import { printable } from '../../kernel/printable.ts'
import { notPublic } from '../../observation/visible.ts'
import { mergedRows } from '../../runelog/models.ts'
import { openInteractions } from '../../runtime/models/open-work.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { interactionEndpoints } from '../../wire/interaction.ts'
import { interactionCard, leftBehind } from '../cards.ts'
import { type Asked, allows, defineOperation, pageAsked, paged } from '../operation.ts'

const reply = { scope: 'approve', key_is_recorded: true } as const

/** Lists what waits for a person. */
export const listInbox = defineOperation({
  ...interactionEndpoints.listInbox,
  summary:
    'Everything that waits for a person, oldest first. The first page also names calls whose process is gone and whose outcome is unknown: they become questions when a process that works takes their run.',
  async run(backend, { query: { limit, cursor }, scope }) {
    const { runelog } = backend
    const titleOf = async (session_id: string) => (await runelog.row(summaries, session_id))?.value.title ?? null
    const page = pageAsked('list_inbox', { limit, cursor })
    const rows = await mergedRows(runelog, openInteractions, ['open', 'due'], page)
    const { shown, next_cursor } = paged(rows, limit)
    const itemOf = async ({ value: open }: (typeof shown)[number]) => {
      const prompt = open.visibility === 'public' || allows(scope, 'approve') ? printable(open.prompt) : notPublic
      return { ...open, prompt, title: await titleOf(open.session_id) }
    }
    const left = cursor === undefined ? [...(await leftBehind(backend, () => true)).values()] : []
    const calls = left.flatMap((one) => one.unsettled)
    const unsettledOf = async (call: (typeof calls)[number]) => {
      const action_summary = printable(call.action_summary)
      return { ...call, action_summary, title: await titleOf(call.session_id) }
    }
    const [items, unsettled] = await Promise.all([Promise.all(shown.map(itemOf)), Promise.all(calls.map(unsettledOf))])
    return { items, next_cursor, unsettled }
  },
})

/** Reads one interaction. */
export const getInteraction = defineOperation({
  ...interactionEndpoints.getInteraction,
  summary: 'Everything that a person must see before answering, and the outcome.',
  run: (backend, { params, scope }) => interactionCard(backend, params.interaction_id, scope),
})

/** Approves an action. */
export const approve = defineOperation({
  ...interactionEndpoints.approve,
  ...reply,
  summary:
    'Let the action be carried out: exactly the one that was shown. An irreversible action needs the digest that the interaction shows. The digest covers tool, definition, arguments and policy, so equal calls have the same one, in other sessions too; the id says which of them is approved.',
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    return asRecord(await inbox.approve(asked.params.interaction_id, asOptions(signedBy(asked))))
  },
})

/** Denies an action. */
export const deny = defineOperation({
  ...interactionEndpoints.deny,
  ...reply,
  summary: 'Deny the action. The agent receives the reason.',
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    return asRecord(await inbox.deny(asked.params.interaction_id, asOptions(signedBy(asked))))
  },
})

/** Answers a form or a question. */
export const answer = defineOperation({
  ...interactionEndpoints.answer,
  ...reply,
  summary: 'Answer a form, a question, or anything else that its request describes.',
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    const { reply, ...given } = signedBy(asked)
    return asRecord(await inbox.answer(asked.params.interaction_id, reply, asOptions(given)))
  },
})

/** Settles an unknown outcome. */
export const settle = defineOperation({
  ...interactionEndpoints.settle,
  ...reply,
  summary:
    'Report whether an action with an unknown outcome happened. `leave` settles nothing: the run that waits for the answer ends as failed with OUTCOME_UNKNOWN, and the question is asked again under another id.',
  async run(backend, asked) {
    const { inbox } = await backend.commands()
    return asRecord(await inbox.settle(asked.params.interaction_id, asOptions(signedBy(asked))))
  },
})

/** The body of a reply. A server signs it with the name of the token where it names no person. */
function signedBy<B extends { replied_by?: string | undefined }>(asked: Asked<unknown, unknown, B>) {
  const { body, idempotency_key, by } = asked
  return { ...body, replied_by: body.replied_by ?? by, idempotency_key: idempotency_key ?? undefined }
}
