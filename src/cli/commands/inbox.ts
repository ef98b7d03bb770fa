import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { shorten } from '../../observation/describe.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
import { answer, approve, deny, getInteraction, listInbox, settle } from '../../surface/operations/inbox.ts'
import type { InteractionCard } from '../../wire/interaction.ts'
import { fieldsOf, valueFor } from '../ask-person.ts'
import { type Call, type Command, command } from '../command.ts'
import { exits } from '../exits.ts'
import { clientOptions, flag, text } from '../options.ts'
import { verbFor } from '../print.ts'
import { resolveId } from '../reach.ts'
import { card, proofOf } from '../render/card.ts'
import { ago, columns, remaining, safeLine } from '../render/text.ts'

const inbox = command({
  usage: 'statewright inbox [ID]',
  summary: 'List the open questions, oldest first. With an id, show everything about one question.',
  takes: [0, 1],
  options: clientOptions,
  run: (call) =>
    call.withClient('look', (client) => (call.words.length === 0 ? printInbox(client, call) : printCard(client, call))),
})

type InboxCall = Call<typeof clientOptions>

async function printInbox(client: Client, { io, values, print, next }: InboxCall): Promise<void> {
  const page = await client.call(listInbox, { query: { limit: 200 } })
  const now = io.host.now()
  print(page, () =>
    columns([
      ...page.unsettled.map(({ execution_id, since, title, action_summary }) => [
        execution_id,
        'outcome unknown',
        ago(since, now),
        '',
        shorten(safeLine(title ?? ''), 40),
        shorten(`its process is gone: ${safeLine(action_summary)}`, 80),
      ]),
      ...page.items.map(({ interaction_id, interaction_kind, opened_at, deadline, title, prompt }) => [
        interaction_id,
        interaction_kind,
        ago(opened_at, now),
        deadline === null ? '' : `ends ${remaining(deadline, now)}`,
        shorten(safeLine(title ?? ''), 40),
        shorten(safeLine(prompt), 80),
      ]),
    ]),
  )
  const [first] = page.items
  const [lost] = page.unsettled
  if (values.json) return
  if (lost !== undefined) {
    io.err(safeLine(lost.says))
    next(`show ${lost.execution_id}`, `watch ${lost.run_id} --work`)
  }
  if (first === undefined && lost === undefined) io.err('No question is open.')
  else if (first !== undefined) next(`inbox ${first.interaction_id}`, verbFor(first))
  if (page.next_cursor !== null) io.err('There are more than 200.')
}

async function printCard(client: Client, { words, io, values, paint, print, next }: InboxCall): Promise<void> {
  const { id: interaction_id } = await resolveId(client, words[0] ?? '', 'interaction')
  const asked = await client.call(getInteraction, { params: { interaction_id } })
  print(asked, () => card(asked, io.host.now(), paint))
  if (asked.state === 'open') next(verbFor(asked))
  else if (!values.json) io.err(`It is ${asked.state}, by ${safeLine(asked.closed_by ?? 'no one')}.`)
}

const replyOptions = {
  as: text('the name to record with the answer'),
  key: text('an idempotency key: the same answer with the same key may be sent again'),
  ...clientOptions,
}

type ReplyCall = Call<typeof replyOptions>

/** An answer that is about to be given: `request` holds what every answer carries. */
interface Replying {
  readonly client: Client
  readonly asked: InteractionCard
  readonly request: { readonly params: { readonly interaction_id: string }; readonly idempotency_key?: string }
  readonly signature: { readonly replied_by?: string }
}

/** Gives the answer; undefined if none was given. */
type Send = (replying: Replying) => Promise<Awaited<ReturnType<typeof answer.run>> | undefined>

function reply(call: ReplyCall, done: string, send: Send): Promise<number> {
  const { as, key } = call.values
  return call.on('act', ['interaction'], async (client, { id: interaction_id }) => {
    const asked = await client.call(getInteraction, { params: { interaction_id } })
    const { state, closed_by } = asked
    // With a key, the same answer may be given again.
    if (state !== 'open' && key === undefined)
      throw faults.interaction_closed({ interaction_id, state, by: closed_by ?? 'no one' })
    const request = withoutUndefined({ params: { interaction_id }, idempotency_key: key })
    const answered = await send({ client, asked, request, signature: withoutUndefined({ replied_by: as }) })
    if (answered === undefined) {
      call.io.err('Nothing was answered; the question stays open.')
      return exits.waiting
    }
    if (!answered.is_aligned)
      call.io.err('Warning: the run waits for other contracts than the record expects. Look at the session.')
    call.print(answered, () => [`${interaction_id}: ${done}${answered.is_repeated ? ', as before' : ''}.`])
    if (answered.run_id !== null) await suggestWatch(call, answered.run_id)
    return exits.ok
  })
}

/** A server, this command line with its config, or another program has the agent and continues the run. */
async function suggestWatch({ values: { server, config, json }, io, next }: ReplyCall, run_id: string) {
  if (server !== undefined) next(`watch ${run_id}`)
  else if (await io.host.hasConfig(config)) next(`watch ${run_id} --work`)
  else if (!json) io.err('The run goes on when the program that has its agent starts again.')
}

const approveOptions = {
  yes: flag('do not prompt; irreversible actions also need --digest', 'y'),
  digest: text('the complete digest of the question that you saw; any other is refused'),
  ...replyOptions,
}

const approveCommand = command({
  usage: 'statewright approve ID [--yes [--digest DIGEST]]',
  summary: 'Approve exactly the action that is shown. An irreversible action needs its digest.',
  takes: 1,
  options: approveOptions,
  run: (call) =>
    reply(call, 'approved', async ({ client, asked, request, signature }) => {
      refuseOther(call, asked, 'approval')
      const seen = await confirmed(call, asked)
      return seen && client.call(approve, { ...request, body: { ...seen, ...signature } })
    }),
})

function refuseOther({ refuse }: ReplyCall, { interaction_id, interaction_kind }: InteractionCard, wanted: string) {
  if (interaction_kind !== wanted) throw refuse(`${interaction_id} is of the kind ${interaction_kind}, not ${wanted}.`)
}

/** The digest of the question, once it is certain that the person saw it; undefined if they do not approve. */
async function confirmed(
  { values: { yes, digest: given }, io, paint, refuse }: Call<typeof approveOptions>,
  asked: InteractionCard,
): Promise<{ digest?: string } | undefined> {
  const { digest, interaction_id } = asked
  // A refusal does not show the digest: anyone could then approve unseen.
  const lookAgain = `Read it with "statewright inbox ${interaction_id}".`
  if (given !== undefined && given !== digest) {
    const problem = `It is not the digest of this question. ${lookAgain}`
    throw faults.reply_unfit({ interaction_id, problems: [{ pointer: '/digest', problem }] })
  }
  const seen = digest === null ? {} : { digest }
  const { proof, needsDigest, isGiven } = proofOf(asked)
  if (yes) {
    if (!needsDigest || given !== undefined) return seen
    throw refuse(`The action is irreversible: pass its digest too, --yes --digest DIGEST. ${lookAgain}`)
  }
  if (!io.terminal.isInteractive)
    throw refuse(`No person can be asked here: pass --yes${needsDigest ? ' --digest DIGEST' : ''}. ${lookAgain}`)
  for (const line of card(asked, io.host.now(), paint)) io.err(line)
  return isGiven((await io.terminal.ask(`Type ${proof} to approve: `))?.trim() ?? '') ? seen : undefined
}

const denyCommand = command({
  usage: 'statewright deny ID [-m REASON]',
  summary: 'Deny an action. The agent receives the reason.',
  takes: 1,
  options: { message: text('the reason, which the agent receives', 'm'), ...replyOptions },
  run: (call) =>
    reply(call, 'denied', async ({ client, asked, request, signature }) => {
      refuseOther(call, asked, 'approval')
      return client.call(deny, { ...request, body: withoutUndefined({ reason: call.values.message, ...signature }) })
    }),
})

const answerOptions = {
  reject: flag('reject a form or a confirmation'),
  message: text('the reason, which the agent receives', 'm'),
  reply: text('the whole reply as JSON'),
  ...replyOptions,
}

const answerCommand = command({
  usage: 'statewright answer ID [TEXT | NAME=VALUE …] [--reject [-m REASON]] [--reply JSON]',
  summary: 'Answer a question with a text, or a form with its fields. Other fields get their defaults.',
  takes: [1, 100],
  options: answerOptions,
  run: (call) =>
    reply(call, 'answered', async ({ client, asked, request, signature }) => {
      const { interaction_kind } = asked
      if (interaction_kind === 'approval') throw call.refuse('It is an approval: use approve or deny.')
      if (interaction_kind === 'settlement') throw call.refuse('It is a settlement: use settle.')
      if (interaction_kind === 'question_pack' && call.values.reply === undefined)
        throw call.refuse('It is a pack of questions of a plan: use plan answer, or give the whole --reply.')
      return client.call(answer, { ...request, body: { reply: replyTo(call, asked), ...signature } })
    }),
})

function replyTo({ values, words, json, refuse }: Call<typeof answerOptions>, asked: InteractionCard) {
  const [, ...rest] = words
  if (values.reply !== undefined) return json('reply') as Record<string, Json>
  if (asked.interaction_kind === 'question') return { answer: rest.join(' ') }
  if (asked.interaction_kind === 'notice')
    return { acknowledged: true, ...(rest.length > 0 && { note: rest.join(' ') }) }
  if (values.reject) return withoutUndefined({ action: 'reject', reason: values.message })
  const fields = fieldsOf(asked.request)
  const data: Record<string, Json> = {}
  for (const word of rest) {
    const [name = '', ...value] = word.split('=')
    if (value.length === 0) throw refuse(`A form takes NAME=VALUE, not "${word}".`)
    data[name] = valueFor(fields.find((field) => field.name === name) ?? { name }, value.join('='))
  }
  return { action: 'approve', ...(fields.length > 0 && { data }) }
}

const outcomes = { happened: 'happened', 'did-not-happen': 'did_not', leave: 'leave' } as const

const whatLeavingDoes = 'the run ends as failed, and the question is asked again under another id'

const settleCommand = command({
  usage: 'statewright settle ID --happened [--result JSON] | --did-not-happen | --leave [-m REASON]',
  summary: 'Report whether an action with an unknown outcome happened. Check the other system first.',
  takes: 1,
  options: {
    happened: flag('it happened; it is not done again'),
    'did-not-happen': flag('it did not happen; it may be tried again'),
    leave: flag(`you do not know; ${whatLeavingDoes}`),
    result: text('the result of the action, as JSON'),
    message: text('the reason for the answer, which is recorded', 'm'),
    ...replyOptions,
  },
  async run(call) {
    const first = call.onlyOne(['happened', 'did-not-happen', 'leave'])
    const done = first === 'leave' ? `not settled; ${whatLeavingDoes}` : 'settled'
    return reply(call, done, async ({ client, asked, request, signature }) => {
      if (first === undefined) throw call.refuse('Choose one of --happened, --did-not-happen and --leave.')
      refuseOther(call, asked, 'settlement')
      const settled = { outcome: outcomes[first], result: call.json('result'), reason: call.values.message }
      return client.call(settle, { ...request, body: withoutUndefined({ ...settled, ...signature }) })
    })
  },
})

/** Commands that show the questions to a person and answer them. */
export const inboxCommands: readonly Command[] = [inbox, approveCommand, denyCommand, answerCommand, settleCommand]
