import type { Client } from '../../surface/client.ts'
import { sendMessage } from '../../surface/operations/session-commands.ts'
import { createSession, getSession } from '../../surface/operations/sessions.ts'
import { askPerson } from '../ask-person.ts'
import { budgetOf, budgetWords } from '../budget-of.ts'
import type { Arguments, Command } from '../command.ts'
import { exits } from '../exits.ts'
import { followRun } from '../follow-run.ts'
import { next } from '../hint.ts'
import type { Io } from '../host.ts'
import { createViewer } from '../render/viewer.ts'
import { resolveId } from '../resolve-id.ts'
import { badUsage } from '../usage.ts'
import { whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'
import { onlyAgent } from './run.ts'

export const chatCommand: Command = {
  name: 'chat',
  usage: 'statewright chat [--agent NAME] [--session ID] [--session-budget LIMITS]',
  summary: 'Talk with an agent, message by message, in one session. It is all there when you come back.',
  options: {
    agent: { type: 'string', short: 'a', summary: 'which agent; needed where there are several' },
    session: { type: 'string', summary: 'go on with this session' },
    'session-budget': { type: 'string', summary: `what a new session may spend: ${budgetWords}` },
    ...whereOptions,
  },

  async run(args, io) {
    take(this, args, 0)
    if (!io.terminal.isInteractive)
      throw badUsage(this, 'A chat needs a terminal; without one, use statewright run "…" --session ID.')
    return withClient(io.host, args, (client) => talk(client, this, args, io), 'work')
  },
}

async function talk(client: Client, command: Command, args: Arguments, io: Io): Promise<number> {
  const session_id = await sessionFor(client, command, args)
  let { event_id: after } = await client.call(getSession, { params: { session_id } })
  io.err(`Session ${session_id}. An empty line or Ctrl-D ends the talk; the session stays.`)
  const ask = (id: string, signal: AbortSignal) => askPerson(io, client, id, signal)
  for (;;) {
    const input = (await io.terminal.ask('you: '))?.trim()
    if (input === undefined || input === '') break
    const { run_id } = await client.call(sendMessage, { params: { session_id }, body: { input } })
    const viewer = createViewer(io, 'story')
    const followed = await followRun(io, client, { session_id, run_id, after }, viewer, { owns: true, ask })
    after = followed.after
    if (followed.exit === 'waiting') break
  }
  next(io, args, `chat --session ${session_id}`)
  return exits.ok
}

async function sessionFor(client: Client, command: Command, args: Arguments): Promise<string> {
  const { values } = args
  const budget = budgetOf(command, args, 'session-budget')
  if (values.session !== undefined) return (await resolveId(client, values.session as string, 'session')).session_id
  const agent = (values.agent as string | undefined) ?? (await onlyAgent(client, command))
  return (await client.call(createSession, { body: { agent, ...(budget !== undefined && { budget }) } })).session_id
}
