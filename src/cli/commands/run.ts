import type { Client } from '../../surface/client.ts'
import { listAgents } from '../../surface/operations/agents.ts'
import { submitRun } from '../../surface/operations/run-commands.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { askPerson } from '../ask-person.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { type Followed, followRun } from '../follow-run.ts'
import { next } from '../hint.ts'
import { createViewer } from '../render/viewer.ts'
import { resolveId } from '../resolve-id.ts'
import { badUsage } from '../usage.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const runCommand: Command = {
  name: 'run',
  usage: 'statewright run "WHAT TO DO" [--agent NAME] [--session ID] [--auto]',
  summary: 'Give an agent a job and watch it; questions are asked here. Ctrl-C stops it safely.',
  options: {
    agent: { type: 'string', short: 'a', summary: 'which agent; needed where there are several' },
    session: { type: 'string', summary: 'in this session instead of a new one' },
    auto: { type: 'boolean', summary: 'ask nobody: what needs approval is denied unless it was approved beforehand' },
    quiet: { type: 'boolean', short: 'q', summary: 'only what the agent says' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [input = ''] = take(this, args, 1)
    if (input.trim() === '') throw badUsage(this, 'Say what to do.')
    const work = async (client: Client) => {
      const agent = (args.values.agent as string | undefined) ?? (await onlyAgent(client, this))
      const place = await placeOf(client, args.values.session as string | undefined)
      const body = { agent, input, ...place.body, ...(args.values.auto === true && { mode: 'auto' as const }) }
      const { session_id, run_id } = await client.call(submitRun, { body })
      const viewer = createViewer(io, args.values.json ? 'json' : args.values.quiet ? 'text' : 'story')
      const ask = (id: string, signal: AbortSignal) => askPerson(io, client, id, signal)
      const followed = await followRun(io, client, { session_id, run_id, after: place.after }, viewer, {
        owns: true,
        ...(io.terminal.isInteractive && !args.values.json && { ask }),
      })
      next(io, args, ...commandsAfter(followed, session_id, run_id))
      return exits[followed.exit]
    }
    return withClient(io.host, args, work, 'work')
  },
}

/** The one agent there is. */
export async function onlyAgent(client: Client, command: Command): Promise<string> {
  const { items } = await client.call(listAgents, {})
  const [first] = items
  if (items.length === 1 && first !== undefined) return first.name
  throw badUsage(command, `Name an agent with --agent; there is ${items.map(({ name }) => name).join(', ') || 'none'}.`)
}

/** Where the run goes, and from where on it is followed. */
async function placeOf(client: Client, given: string | undefined) {
  if (given === undefined) return { body: {}, after: 0 }
  const { session_id } = await resolveId(client, given, 'session')
  const { event_id } = await client.call(getSession, { params: { session_id } })
  return { body: { session_id }, after: event_id }
}

export function commandsAfter({ exit, open }: Followed, session_id: string, run_id: string): readonly string[] {
  if (exit === 'waiting') return [...open.map((id) => `inbox ${id}`), `watch ${run_id} --work`]
  if (exit === 'interrupted' || exit === 'ok') return [`show ${session_id}`]
  return [`show ${run_id}`, `trace ${run_id}`]
}
