import { faults } from '../faults/catalogue.ts'
import type { Client } from '../surface/client.ts'
import { getInteraction } from '../surface/operations/inbox.ts'
import type { InteractionCard } from '../wire/interaction.ts'
import type { Arguments, Command, Option } from './command.ts'
import { exits } from './exits.ts'
import { next } from './hint.ts'
import type { Io } from './host.ts'
import { print } from './print.ts'
import { resolveId } from './resolve-id.ts'
import { jsonOption, whereOptions, withClient } from './with-client.ts'
import { take } from './with-store.ts'

export const answeringOptions: Readonly<Record<string, Option>> = {
  as: { type: 'string', summary: 'the name that is recorded with it' },
  key: { type: 'string', summary: 'an idempotency key: the same answer with the same key may be sent again' },
  ...whereOptions,
  ...jsonOption,
}

export interface Answered {
  readonly interaction_id: string
  readonly session_id: string
  readonly run_id: string | null
  readonly is_repeated: boolean
  readonly is_aligned: boolean
}

/** What a command does that answers a question: finds it, lets `say` give the answer, and tells what comes next. */
export async function answering(
  command: Command,
  args: Arguments,
  io: Io,
  words: { readonly most?: number; readonly done: string },
  say: (client: Client, asked: InteractionCard, rest: readonly string[]) => Promise<Answered | undefined>,
): Promise<number> {
  const [given = '', ...rest] = take(command, args, 1, words.most ?? 1)
  return withClient(
    io.host,
    args,
    async (client) => {
      const { id: interaction_id } = await resolveId(client, given, 'interaction')
      const asked = await client.call(getInteraction, { params: { interaction_id } })
      const { state, closed_by } = asked
      // With a key, the same answer may be given again.
      if (state !== 'open' && args.values.key === undefined)
        throw faults.interaction_closed({ interaction_id, state, by: closed_by ?? 'nobody' })
      const answered = await say(client, asked, rest)
      if (answered === undefined) {
        io.err('Nothing was answered; the question stays open.')
        return exits.waiting
      }
      if (!answered.is_aligned)
        io.err('Warning: another number of contracts waits than the record expects; look at the session.')
      print(io, args, answered, () => [`${interaction_id}: ${words.done}${answered.is_repeated ? ', as before' : ''}.`])
      if (answered.run_id !== null) await tellNext(io, args, answered.run_id)
      return exits.ok
    },
    'act',
  )
}

/** Who has the agents goes on with the run: a server, this command line by its config, or a program. */
async function tellNext(io: Io, args: Arguments, run_id: string) {
  const { server, config, json } = args.values
  if (server !== undefined) next(io, args, `watch ${run_id}`)
  else if (await io.host.hasConfig(config as string | undefined)) next(io, args, `watch ${run_id} --work`)
  else if (!json) io.err('The run goes on when the program that has its agent starts again.')
}

/** What every answer carries along. */
export function signed({ values }: Arguments) {
  const name = values.as as string | undefined
  return name === undefined ? {} : { replied_by: name }
}

export function keyed({ values }: Arguments) {
  const key = values.key as string | undefined
  return key === undefined ? {} : { idempotency_key: key }
}
