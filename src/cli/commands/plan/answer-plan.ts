import { isRecord } from '../../../coordinator/checksum.ts'
import { choicesIn } from '../../../coordinator/questions/choose.ts'
import type { Json } from '../../../kernel/json.ts'
import { answerPlan } from '../../../surface/operations/plan-commands.ts'
import type { Arguments, Command } from '../../command.ts'
import type { Io } from '../../host.ts'
import { resolveId } from '../../resolve-id.ts'
import { badUsage } from '../../usage.ts'
import { take } from '../../with-store.ts'
import { tellPlan } from './tell-plan.ts'
import { withPlans } from './with-plans.ts'

export async function answerQuestions(command: Command, args: Arguments, io: Io): Promise<number> {
  const [given = '', ...words] = take(command, args, 2, 60)
  const name = args.values.as as string | undefined
  const said = await read(command, words, io)
  return withPlans(command, args, io, false, async (client) => {
    const { id: coordination_id } = await resolveId(client, given, 'plan')
    const body = { ...said, ...(name === undefined ? {} : { replied_by: name }) }
    return tellPlan(client, await client.call(answerPlan, { params: { coordination_id }, body }), args, io)
  })
}

/** Choices as they are typed, or a file with an answer pack or with choices. */
async function read(command: Command, words: readonly string[], { host }: Io) {
  const [file = ''] = words
  if (words.length > 1 || file.includes('=')) return { choices: pairs(command, words) }
  const document = await host.planning.readDocument(file)
  if (!isRecord(document)) throw badUsage(command, `${file} holds neither an answer pack nor choices.`)
  if ('question_pack_id' in document) return { answer_pack: document as Record<string, Json> }
  return { choices: choicesIn(document) }
}

function pairs(command: Command, words: readonly string[]): Readonly<Record<string, string>> {
  const given = new Map<string, string>()
  for (const [name, value] of words.map((word) => pair(command, word))) {
    if (given.has(name)) throw badUsage(command, `${name} is answered twice; give it one answer.`)
    given.set(name, value)
  }
  return Object.fromEntries(given)
}

function pair(command: Command, word: string): readonly [string, string] {
  const at = word.indexOf('=')
  if (at < 1) throw badUsage(command, `Answers are NAME=VALUE, not "${word}".`)
  return [word.slice(0, at), word.slice(at + 1)]
}
