import { faults } from '../../faults/catalogue.ts'
import { byRun, bySession } from '../../observation/obstacle.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
import { listAgents } from '../../surface/operations/agents.ts'
import { submitRun } from '../../surface/operations/runs.ts'
import { createSession, getSession, sendMessage } from '../../surface/operations/sessions.ts'
import type { Obstacle } from '../../wire/run.ts'
import type { SessionCard } from '../../wire/session.ts'
import { askPerson } from '../ask-person.ts'
import { type Call, command } from '../command.ts'
import { exits } from '../exits.ts'
import { type Followed, followRun } from '../follow-run.ts'
import { budgetWords, clientOptions, flag, text, whereOptions } from '../options.ts'
import { resolveId } from '../reach.ts'
import { createViewer } from '../render/viewer.ts'

const agentOption = { agent: text('the agent; required if there are several', 'a') }

/** The command `run`. */
export const runCommand = command({
  usage: 'statewright run "WHAT TO DO" [--agent NAME] [--session ID] [--auto | --reply-optional] [--budget LIMITS]',
  summary: 'Give an agent a job and watch it; questions are asked here. Ctrl-C stops it safely.',
  takes: 1,
  options: {
    ...agentOption,
    session: text('the session of the run. Default: a new one'),
    budget: text(`the budget of the run: ${budgetWords}`),
    'session-budget': text('the budget of a new session for all its runs, as --budget'),
    'reply-optional': flag('do not wait for replies without limit: after replyTimeoutMs the agent decides by itself'),
    auto: flag('ask no person: deny calls that need approval, unless they were approved before'),
    quiet: flag('show only the text of the agent', 'q'),
    ...clientOptions,
  },
  async run(call) {
    const { words, values, io } = call
    const [input = ''] = words
    if (input.trim() === '') throw call.refuse('Name the job.')
    call.onlyOne(['auto', 'reply-optional'])
    if (values.session !== undefined && values['session-budget'] !== undefined)
      throw call.refuse('A session gets its budget at its beginning. resume --budget raises it after a suspension.')
    const limits = withoutUndefined({
      budget: call.budget('budget'),
      session_budget: call.budget('session-budget'),
      mode: values.auto === true ? ('auto' as const) : undefined,
      interactive_require_user_reply: values['reply-optional'] === true ? false : undefined,
    })
    const asks = io.terminal.isInteractive && !values.json
    return call.withClient('work', async (client) => {
      const agent = values.agent ?? (await onlyAgent(client, call))
      const place = await placeOf(client, agent, values.session)
      // Each try would queue one more run behind the question. A person at a terminal is asked the question instead.
      if (place.waits_for !== null && !asks) {
        if (values.json) throw place.waits_for.refusal
        io.err(place.waits_for.refusal.message)
        call.next(...place.waits_for.commands)
        return exits.waiting
      }
      const body = { agent, input, ...place.body, ...limits }
      const { session_id, run_id } = await client.call(submitRun, { body })
      const viewer = createViewer(io, values.json ? 'json' : values.quiet ? 'text' : 'story')
      const how = { viewer, owns: true, ...(asks && { ask: askPerson(io, client) }) }
      const followed = await followRun(io, client, { session_id, run_id, after: place.after }, how)
      call.next(...commandsAfter(followed, session_id, run_id))
      return exits[followed.exit]
    })
  },
})

async function onlyAgent(client: Client, { refuse }: Call): Promise<string> {
  const { items } = await client.call(listAgents, {})
  const [first] = items
  if (items.length === 1 && first !== undefined) return first.name
  throw refuse(`Name an agent with --agent. Agents: ${items.map(({ name }) => name).join(', ') || 'none'}.`)
}

/** The session of the run, the event to follow it from, and what a person has to do before it can begin. */
async function placeOf(client: Client, agent: string, given: string | undefined) {
  if (given === undefined) return { body: {}, after: 0, waits_for: null }
  const { session_id } = await resolveId(client, given, 'session')
  const card = await client.call(getSession, { params: { session_id } })
  return { body: { session_id }, after: card.event_id, waits_for: waitsFor(card, agent) }
}

function waitsFor(card: SessionCard, agent: string) {
  const { session_id, state, runs, waiting_on } = card
  const refusal = ({ says: problem }: Obstacle) => faults.session_waits({ session_id, problem })
  if (state === 'paused') return { refusal: refusal(bySession(card, state)), commands: [`resume ${session_id}`] }
  const first = runs.find((run) => run.agent === agent && run.status === 'waiting_user')
  if (first === undefined) return null
  return { refusal: refusal(byRun(first)), commands: waiting_on.map(({ interaction_id }) => `inbox ${interaction_id}`) }
}

/** The commands to suggest when the following has ended. */
export function commandsAfter(followed: Followed, session_id: string, run_id: string): readonly string[] {
  const { exit, open, brings_back } = followed
  if (exit === 'waiting' && brings_back !== null) return [`show ${session_id}`, brings_back]
  if (exit === 'waiting') return [...open.map((id) => `inbox ${id}`), `watch ${run_id} --work`]
  if (exit === 'interrupted' || exit === 'ok') return [`show ${session_id}`]
  return [`show ${run_id}`, `trace ${run_id}`]
}

const chatOptions = {
  ...agentOption,
  session: text('the session to continue. Default: a new one'),
  'session-budget': text(`the budget of a new session: ${budgetWords}`),
  ...whereOptions,
}

/** The command `chat`. */
export const chatCommand = command({
  usage: 'statewright chat [--agent NAME] [--session ID] [--session-budget LIMITS]',
  summary: 'Talk with an agent, message by message, in one session. You can continue it later.',
  options: chatOptions,
  async run(call) {
    const { io } = call
    if (!io.terminal.isInteractive)
      throw call.refuse('A chat needs a terminal; without one, use statewright run "…" --session ID.')
    return call.withClient('work', async (client) => {
      const session_id = await sessionFor(client, call)
      let { event_id: after } = await client.call(getSession, { params: { session_id } })
      io.err(`Session ${session_id}. An empty line or Ctrl-D ends the talk; the session stays.`)
      for (;;) {
        const input = (await io.terminal.ask('you: '))?.trim()
        if (input === undefined || input === '') break
        const { run_id } = await client.call(sendMessage, { params: { session_id }, body: { input } })
        const how = { viewer: createViewer(io, 'story'), owns: true, ask: askPerson(io, client) }
        const followed = await followRun(io, client, { session_id, run_id, after }, how)
        after = followed.after
        if (followed.exit === 'waiting') break
      }
      call.next(`chat --session ${session_id}`)
    })
  },
})

async function sessionFor(client: Client, call: Call<typeof chatOptions>): Promise<string> {
  const budget = call.budget('session-budget')
  const { session, agent } = call.values
  if (session !== undefined) return (await resolveId(client, session, 'session')).session_id
  const body = withoutUndefined({ agent: agent ?? (await onlyAgent(client, call)), budget })
  return (await client.call(createSession, { body })).session_id
}
