import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { answer, approve, deny, getInteraction, settle } from '../../surface/operations/inbox.ts'
import type { InteractionCard } from '../../wire/interaction.ts'
import { badUsage, jsonOf, jsonOption, onlyOne, take, whereOptions } from '../arguments.ts'
import { fieldsOf, valueFor } from '../ask-person.ts'
import { type Arguments, type Command, command, type Options, type Values } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { card, isIrreversible } from '../render/card.ts'
import { paintFor } from '../render/text.ts'

const replyOptions = {
  as: { type: 'string', summary: 'the name that is recorded with it' },
  key: { type: 'string', summary: 'an idempotency key: the same answer with the same key may be sent again' },
  ...whereOptions,
  ...jsonOption,
} as const satisfies Options

type ReplyArguments = Arguments<typeof replyOptions>

interface Answered {
  readonly interaction_id: string
  readonly session_id: string
  readonly run_id: string | null
  readonly is_repeated: boolean
  readonly is_aligned: boolean
}

/** An answer that is about to be given: `request` holds what every answer carries. */
interface Replying {
  readonly client: Client
  readonly asked: InteractionCard
  readonly words: readonly string[]
  readonly request: { readonly params: { readonly interaction_id: string }; readonly idempotency_key?: string }
  readonly signature: { readonly replied_by?: string }
}

interface Reply {
  /** How many positional arguments the command takes; one by default. */
  readonly most?: number
  readonly done: string
  /** Gives the answer; undefined if none was given. */
  readonly send: (replying: Replying) => Promise<Answered | undefined>
}

/** Finds the question, sends the answer, and suggests what comes next. */
async function reply(command: Command, args: ReplyArguments, io: Io, { most = 1, done, send }: Reply): Promise<number> {
  const [given = '', ...words] = take(command, args, 1, most)
  const { as, key } = args.values
  return withClient(io, args, 'act', async (client) => {
    const { id: interaction_id } = await resolveId(client, given, 'interaction')
    const asked = await client.call(getInteraction, { params: { interaction_id } })
    const { state, closed_by } = asked
    // With a key, the same answer may be given again.
    if (state !== 'open' && key === undefined)
      throw faults.interaction_closed({ interaction_id, state, by: closed_by ?? 'no one' })
    const request = withoutUndefined({ params: { interaction_id }, idempotency_key: key })
    const answered = await send({ client, asked, words, request, signature: withoutUndefined({ replied_by: as }) })
    if (answered === undefined) {
      io.err('Nothing was answered; the question stays open.')
      return exits.waiting
    }
    if (!answered.is_aligned)
      io.err('Warning: another number of contracts waits than the record expects; look at the session.')
    print(io, args, answered, () => [`${interaction_id}: ${done}${answered.is_repeated ? ', as before' : ''}.`])
    if (answered.run_id !== null) await suggestWatch(io, args, answered.run_id)
    return exits.ok
  })
}

/** A server, this command line with its config, or another program has the agent and continues the run. */
async function suggestWatch(io: Io, args: ReplyArguments, run_id: string) {
  const { server, config, json } = args.values
  if (server !== undefined) next(io, args, `watch ${run_id}`)
  else if (await io.host.hasConfig(config)) next(io, args, `watch ${run_id} --work`)
  else if (!json) io.err('The run goes on when the program that has its agent starts again.')
}

/** The command `approve`. */
export const approveCommand = command({
  name: 'approve',
  usage: 'statewright approve ID [--yes [--digest DIGEST]]',
  summary: 'Let an action be carried out: exactly the one that is shown. What cannot be undone needs its digest typed.',
  options: {
    yes: { type: 'boolean', short: 'y', summary: 'do not ask; for what cannot be undone, only with --digest' },
    digest: { type: 'string', summary: 'the whole digest of what you have seen; anything else is refused' },
    ...replyOptions,
  },

  run(args, io) {
    return reply(this, args, io, {
      done: 'approved',
      send: async ({ client, asked, request, signature }) => {
        refuseOther(this, asked, 'approval')
        const seen = await confirmed(this, asked, args.values, io)
        return seen && client.call(approve, { ...request, body: { ...seen, ...signature } })
      },
    })
  },
})

function refuseOther(command: Command, { interaction_id, interaction_kind }: InteractionCard, wanted: string) {
  if (interaction_kind !== wanted)
    throw badUsage(command, `${interaction_id} is of the kind ${interaction_kind}, not ${wanted}.`)
}

/** A refusal does not show the digest: anyone could then approve unseen. */
const lookAgain = ({ interaction_id }: InteractionCard) => `Read it with "statewright inbox ${interaction_id}".`

/** The digest of the question, once it is certain that the person saw it; undefined if they do not approve. */
async function confirmed(
  command: Command,
  asked: InteractionCard,
  { yes, digest: given }: { readonly yes?: boolean | undefined; readonly digest?: string | undefined },
  io: Io,
): Promise<{ digest?: string } | undefined> {
  const { digest, interaction_id } = asked
  if (given !== undefined && given !== digest)
    throw faults.reply_unfit({
      interaction_id,
      problems: [{ pointer: '/digest', problem: `It is not the digest of this question. ${lookAgain(asked)}` }],
    })
  const seen = digest === null ? {} : { digest }
  const needsProof = isIrreversible(asked) && digest !== null
  if (yes) {
    if (!needsProof || given !== undefined) return seen
    throw badUsage(command, `It cannot be undone: give its digest too, --yes --digest DIGEST. ${lookAgain(asked)}`)
  }
  if (!io.terminal.isInteractive)
    throw badUsage(
      command,
      `No one can be asked here: say --yes${needsProof ? ' --digest DIGEST' : ''}. ${lookAgain(asked)}`,
    )
  for (const line of card(asked, io.host.now(), paintFor(io.terminal.hasColor))) io.err(line)
  const proof = needsProof ? digest.slice(0, 4) : 'y'
  const typed = (await io.terminal.ask(`Type ${proof} to approve: `))?.trim().toLowerCase()
  return typed === proof || (needsProof && typed === digest) ? seen : undefined
}

/** The command `deny`. */
export const denyCommand = command({
  name: 'deny',
  usage: 'statewright deny ID [-m REASON]',
  summary: 'Do not let an action be carried out. The agent is told why.',
  options: { message: { type: 'string', short: 'm', summary: 'why; the agent reads it' }, ...replyOptions },

  run(args, io) {
    return reply(this, args, io, {
      done: 'denied',
      send: async ({ client, asked, request, signature }) => {
        refuseOther(this, asked, 'approval')
        const body = withoutUndefined({ reason: args.values.message, ...signature })
        return client.call(deny, { ...request, body })
      },
    })
  },
})

const answerOptions = {
  reject: { type: 'boolean', summary: 'say no to a form or a confirmation' },
  message: { type: 'string', short: 'm', summary: 'why; the agent reads it' },
  reply: { type: 'string', summary: 'the whole reply as JSON' },
  ...replyOptions,
} as const satisfies Options

/** The command `answer`. */
export const answerCommand = command({
  name: 'answer',
  usage: 'statewright answer ID [TEXT | NAME=VALUE …] [--reject [-m REASON]] [--reply JSON]',
  summary: 'Answer a question with a text, or a form with its fields. What is not named gets its default.',
  options: answerOptions,

  run(args, io) {
    return reply(this, args, io, {
      done: 'answered',
      most: 100,
      send: async ({ client, asked, words, request, signature }) => {
        const { interaction_kind } = asked
        if (interaction_kind === 'approval') throw badUsage(this, 'It is an approval: use approve or deny.')
        if (interaction_kind === 'settlement') throw badUsage(this, 'It is a settlement: use settle.')
        if (interaction_kind === 'question_pack' && args.values.reply === undefined)
          throw badUsage(this, 'It is a pack of questions of a plan: use plan answer, or give the whole --reply.')
        const body = { reply: replyTo(this, asked, words, args.values), ...signature }
        return client.call(answer, { ...request, body })
      },
    })
  },
})

function replyTo(
  command: Command,
  asked: InteractionCard,
  words: readonly string[],
  { reply, message, reject }: Values<typeof answerOptions>,
): Record<string, Json> {
  if (reply !== undefined) return jsonOf(command, reply, '--reply') as Record<string, Json>
  if (asked.interaction_kind === 'question') return { answer: words.join(' ') }
  if (asked.interaction_kind === 'notice')
    return { acknowledged: true, ...(words.length > 0 && { note: words.join(' ') }) }
  if (reject) return withoutUndefined({ action: 'reject', reason: message })
  const fields = fieldsOf(asked.request)
  const data: Record<string, Json> = {}
  for (const word of words) {
    const [name = '', ...rest] = word.split('=')
    if (rest.length === 0) throw badUsage(command, `A form takes NAME=VALUE, not "${word}".`)
    data[name] = valueFor(fields.find((field) => field.name === name) ?? { name }, rest.join('='))
  }
  return { action: 'approve', ...(fields.length > 0 && { data }) }
}

const outcomes = { happened: 'happened', 'did-not-happen': 'did_not', leave: 'leave' } as const

const whatLeavingDoes = 'the run ends as failed, and the question is asked again under another id'

/** The command `settle`. */
export const settleCommand = command({
  name: 'settle',
  usage: 'statewright settle ID --happened [--result JSON] | --did-not-happen | --leave [-m REASON]',
  summary: 'Say what became of an action whose outcome is unknown. Look before you say it.',
  options: {
    happened: { type: 'boolean', summary: 'it happened; it is not done again' },
    'did-not-happen': { type: 'boolean', summary: 'it did not happen; it may be tried again' },
    leave: { type: 'boolean', summary: `you do not know; ${whatLeavingDoes}` },
    result: { type: 'string', summary: 'what came of it, as JSON' },
    message: { type: 'string', short: 'm', summary: 'how you know' },
    ...replyOptions,
  },

  run(args, io) {
    const first = onlyOne(this, args, ['happened', 'did-not-happen', 'leave'])
    return reply(this, args, io, {
      done: first === 'leave' ? `not settled; ${whatLeavingDoes}` : 'settled',
      send: async ({ client, asked, request, signature }) => {
        if (first === undefined) throw badUsage(this, 'Say one of --happened, --did-not-happen and --leave.')
        refuseOther(this, asked, 'settlement')
        const { result, message: reason } = args.values
        const body = withoutUndefined({
          outcome: outcomes[first],
          result: result === undefined ? undefined : jsonOf(this, result, '--result'),
          reason,
          ...signature,
        })
        return client.call(settle, { ...request, body })
      },
    })
  },
})
