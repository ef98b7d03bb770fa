import { faults } from '../../faults/catalogue.ts'
import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { listAgents } from '../../surface/operations/agents.ts'
import { submitRun } from '../../surface/operations/run-commands.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import type { SessionCard } from '../../wire/session.ts'
import { badUsage, budgetOf, budgetWords, jsonOption, onlyOne, take, whereOptions } from '../arguments.ts'
import { askPerson } from '../ask-person.ts'
import { type Command, command } from '../command.ts'
import { exits } from '../exits.ts'
import { type Followed, followRun } from '../follow-run.ts'
import { next } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { createViewer } from '../render/viewer.ts'

/** The command `run`. */
export const runCommand = command({
  name: 'run',
  usage: 'statewright run "WHAT TO DO" [--agent NAME] [--session ID] [--auto | --reply-optional] [--budget LIMITS]',
  summary: 'Give an agent a job and watch it; questions are asked here. Ctrl-C stops it safely.',
  options: {
    agent: { type: 'string', short: 'a', summary: 'which agent; needed where there are several' },
    session: { type: 'string', summary: 'in this session instead of a new one' },
    budget: { type: 'string', summary: `what the run may spend: ${budgetWords}` },
    'session-budget': { type: 'string', summary: 'what a new session may spend in all its runs; as --budget' },
    'reply-optional': {
      type: 'boolean',
      summary: 'do not wait for a reply for ever: after replyTimeoutMs the agent decides by itself',
    },
    auto: { type: 'boolean', summary: 'ask no one: what needs approval is denied unless it was approved beforehand' },
    quiet: { type: 'boolean', short: 'q', summary: 'only what the agent says' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [input = ''] = take(this, args, 1)
    if (input.trim() === '') throw badUsage(this, 'Say what to do.')
    onlyOne(this, args, ['auto', 'reply-optional'])
    if (args.values.session !== undefined && args.values['session-budget'] !== undefined)
      throw badUsage(this, 'A session gets its budget when it begins; resume --budget gives a suspended one a larger.')
    const limits = withoutUndefined({
      budget: budgetOf(this, args, 'budget'),
      session_budget: budgetOf(this, args, 'session-budget'),
      mode: args.values.auto === true ? ('auto' as const) : undefined,
      interactive_require_user_reply: args.values['reply-optional'] === true ? false : undefined,
    })
    const asks = io.terminal.isInteractive && !args.values.json
    return withClient(io, args, 'work', async (client) => {
      const agent = args.values.agent ?? (await onlyAgent(client, this))
      const place = await placeOf(client, agent, args.values.session)
      // Each try would queue one more run behind the question. A person at a terminal is asked the question instead.
      if (place.waits_for !== null && !asks) {
        if (args.values.json) throw place.waits_for.refusal
        io.err(place.waits_for.refusal.message)
        next(io, args, ...place.waits_for.commands)
        return exits.waiting
      }
      const body = { agent, input, ...place.body, ...limits }
      const { session_id, run_id } = await client.call(submitRun, { body })
      const viewer = createViewer(io, args.values.json ? 'json' : args.values.quiet ? 'text' : 'story')
      const ask = (id: string, signal: AbortSignal) => askPerson(io, client, id, signal)
      const how = { viewer, owns: true, ...(asks && { ask }) }
      const followed = await followRun(io, client, { session_id, run_id, after: place.after }, how)
      next(io, args, ...commandsAfter(followed, session_id, run_id))
      return exits[followed.exit]
    })
  },
})

/** The only agent. Refuses none and several. */
export async function onlyAgent(client: Client, command: Pick<Command, 'usage'>): Promise<string> {
  const { items } = await client.call(listAgents, {})
  const [first] = items
  if (items.length === 1 && first !== undefined) return first.name
  throw badUsage(command, `Name an agent with --agent. Agents: ${items.map(({ name }) => name).join(', ') || 'none'}.`)
}

/** The session of the run, the event to follow it from, and what a person has to do before it can begin. */
async function placeOf(client: Client, agent: string, given: string | undefined) {
  if (given === undefined) return { body: {}, after: 0, waits_for: null }
  const { session_id } = await resolveId(client, given, 'session')
  const card = await client.call(getSession, { params: { session_id } })
  return { body: { session_id }, after: card.event_id, waits_for: waitsFor(card, agent) }
}

function waitsFor({ session_id, state, runs, waiting_on }: SessionCard, agent: string) {
  const refusal = (problem: string) => faults.session_waits({ session_id, problem })
  if (state === 'paused')
    return { refusal: refusal(`Session ${session_id} is paused.`), commands: [`resume ${session_id}`] }
  const first = runs.find((run) => run.agent === agent && run.status === 'waiting_user')
  if (first === undefined) return null
  const says = `Session ${session_id} waits for an answer: ${agent} works on ${first.run_id} first, which asks.`
  return { refusal: refusal(says), commands: waiting_on.map(({ interaction_id }) => `inbox ${interaction_id}`) }
}

/** The commands to suggest when the following has ended. */
export function commandsAfter(followed: Followed, session_id: string, run_id: string): readonly string[] {
  const { exit, open, brings_back } = followed
  if (exit === 'waiting' && brings_back !== null) return [`show ${session_id}`, brings_back]
  if (exit === 'waiting') return [...open.map((id) => `inbox ${id}`), `watch ${run_id} --work`]
  if (exit === 'interrupted' || exit === 'ok') return [`show ${session_id}`]
  return [`show ${run_id}`, `trace ${run_id}`]
}
