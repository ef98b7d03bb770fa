import { shorten } from '../../observation/describe.ts'
import type { Client } from '../../surface/client.ts'
import { getInteraction, listInbox } from '../../surface/operations/inbox.ts'
import { jsonOption, take, whereOptions } from '../arguments.ts'
import { type Arguments, command, type Options } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print, verbFor } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { card } from '../render/card.ts'
import { ago, columns, paintFor, remaining, safeLine } from '../render/text.ts'

const options = { ...whereOptions, ...jsonOption } as const satisfies Options

/** The command `inbox`. */
export const inboxCommand = command({
  name: 'inbox',
  usage: 'statewright inbox [ID]',
  summary: 'Everything that waits for a person, oldest first; with an id, all there is to know about one question.',
  options,

  async run(args, io) {
    const [given] = take(this, args, 0, 1)
    return withClient(io, args, 'look', (client) =>
      given === undefined ? printInbox(client, args, io) : printCard(client, given, args, io),
    )
  },
})

type InboxArguments = Arguments<typeof options>

async function printInbox(client: Client, args: InboxArguments, io: Io): Promise<number> {
  const page = await client.call(listInbox, { query: { limit: 200 } })
  const now = io.host.now()
  print(io, args, page, () =>
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
  if (args.values.json) return exits.ok
  if (lost !== undefined) {
    io.err(safeLine(lost.says))
    next(io, args, `show ${lost.execution_id}`, `watch ${lost.run_id} --work`)
  }
  if (first === undefined && lost === undefined) io.err('Nothing waits for a person.')
  else if (first !== undefined) next(io, args, `inbox ${first.interaction_id}`, verbFor(first))
  if (page.next_cursor !== null) io.err('There are more than 200.')
  return exits.ok
}

async function printCard(client: Client, given: string, args: InboxArguments, io: Io): Promise<number> {
  const { id: interaction_id } = await resolveId(client, given, 'interaction')
  const asked = await client.call(getInteraction, { params: { interaction_id } })
  print(io, args, asked, () => card(asked, io.host.now(), paintFor(io.terminal.hasColor)))
  if (asked.state === 'open') next(io, args, verbFor(asked))
  else if (!args.values.json) io.err(`It is ${asked.state}, by ${safeLine(asked.closed_by ?? 'no one')}.`)
  return exits.ok
}
