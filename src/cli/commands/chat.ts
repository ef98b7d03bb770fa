import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { sendMessage } from '../../surface/operations/session-commands.ts'
import { createSession, getSession } from '../../surface/operations/sessions.ts'
import { badUsage, budgetOf, budgetWords, take, whereOptions } from '../arguments.ts'
import { askPerson } from '../ask-person.ts'
import { type Arguments, type Command, command, type Options } from '../command.ts'
import { exits } from '../exits.ts'
import { followRun } from '../follow-run.ts'
import type { Io } from '../host.ts'
import { next } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { createViewer } from '../render/viewer.ts'
import { onlyAgent } from './run.ts'

const options = {
  agent: { type: 'string', short: 'a', summary: 'which agent; needed where there are several' },
  session: { type: 'string', summary: 'go on with this session' },
  'session-budget': { type: 'string', summary: `what a new session may spend: ${budgetWords}` },
  ...whereOptions,
} as const satisfies Options

/** The command `chat`. */
export const chatCommand = command({
  name: 'chat',
  usage: 'statewright chat [--agent NAME] [--session ID] [--session-budget LIMITS]',
  summary: 'Talk with an agent, message by message, in one session. It is all there when you come back.',
  options,

  async run(args, io) {
    take(this, args, 0)
    if (!io.terminal.isInteractive)
      throw badUsage(this, 'A chat needs a terminal; without one, use statewright run "…" --session ID.')
    return withClient(io, args, 'work', (client) => talk(client, this, args, io))
  },
})

type ChatArguments = Arguments<typeof options>

async function talk(client: Client, command: Command, args: ChatArguments, io: Io): Promise<number> {
  const session_id = await sessionFor(client, command, args)
  let { event_id: after } = await client.call(getSession, { params: { session_id } })
  io.err(`Session ${session_id}. An empty line or Ctrl-D ends the talk; the session stays.`)
  const ask = (id: string, signal: AbortSignal) => askPerson(io, client, id, signal)
  for (;;) {
    const input = (await io.terminal.ask('you: '))?.trim()
    if (input === undefined || input === '') break
    const { run_id } = await client.call(sendMessage, { params: { session_id }, body: { input } })
    const viewer = createViewer(io, 'story')
    const followed = await followRun(io, client, { session_id, run_id, after }, { viewer, owns: true, ask })
    after = followed.after
    if (followed.exit === 'waiting') break
  }
  next(io, args, `chat --session ${session_id}`)
  return exits.ok
}

async function sessionFor(client: Client, command: Command, args: ChatArguments): Promise<string> {
  const { values } = args
  const budget = budgetOf(command, args, 'session-budget')
  if (values.session !== undefined) return (await resolveId(client, values.session, 'session')).session_id
  const agent = values.agent ?? (await onlyAgent(client, command))
  return (await client.call(createSession, { body: withoutUndefined({ agent, budget }) })).session_id
}
