import type { Json } from '../../kernel/json.ts'
import { answer } from '../../surface/operations/inbox.ts'
import type { InteractionCard } from '../../wire/interaction.ts'
import { answering, answeringOptions, keyed, signed } from '../answering.ts'
import type { Arguments, Command } from '../command.ts'
import { fieldsOf, valueFor } from '../form-fields.ts'
import { badUsage, jsonOf } from '../usage.ts'

export const answerCommand: Command = {
  name: 'answer',
  usage: 'statewright answer ID [TEXT | NAME=VALUE …] [--reject [-m REASON]] [--reply JSON]',
  summary: 'Answer a question with a text, or a form with its fields. What is not named gets its default.',
  options: {
    reject: { type: 'boolean', summary: 'say no to a form or a confirmation' },
    message: { type: 'string', short: 'm', summary: 'why; the agent reads it' },
    reply: { type: 'string', summary: 'the whole reply as JSON' },
    ...answeringOptions,
  },

  run(args, io) {
    return answering(this, args, io, { done: 'answered', most: 100 }, async (client, asked, words) => {
      const { interaction_id, interaction_kind } = asked
      if (interaction_kind === 'approval') throw badUsage(this, 'It is an approval: use approve or deny.')
      if (interaction_kind === 'settlement') throw badUsage(this, 'It is a settlement: use settle.')
      if (interaction_kind === 'question_pack' && args.values.reply === undefined)
        throw badUsage(this, 'It is a pack of questions of a plan: use plan answer, or give the whole --reply.')
      const body = { reply: replyTo(this, asked, words, args), ...signed(args) }
      return client.call(answer, { params: { interaction_id }, body, ...keyed(args) })
    })
  },
}

function replyTo(command: Command, asked: InteractionCard, words: readonly string[], { values }: Arguments) {
  if (values.reply !== undefined)
    return jsonOf(command, values.reply as string, '--reply') as Readonly<Record<string, Json>>
  const reason = values.message as string | undefined
  if (asked.interaction_kind === 'question') return { answer: words.join(' ') }
  if (asked.interaction_kind === 'notice')
    return { acknowledged: true, ...(words.length > 0 && { note: words.join(' ') }) }
  if (asked.interaction_kind === 'question_pack')
    throw badUsage(command, `It is a pack of questions: use plan answer ${asked.coordination_id}.`)
  if (values.reject) return { action: 'reject', ...(reason !== undefined && { reason }) }
  const fields = fieldsOf(asked.request)
  const data: Record<string, Json> = {}
  for (const word of words) {
    const [name = '', ...rest] = word.split('=')
    if (rest.length === 0) throw badUsage(command, `A form takes NAME=VALUE, not "${word}".`)
    data[name] = valueFor(fields.find((field) => field.name === name) ?? { name }, rest.join('='))
  }
  return { action: 'approve', ...(fields.length > 0 && { data }) }
}
