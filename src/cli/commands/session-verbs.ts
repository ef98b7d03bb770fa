import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
import { killAgent, spawnAgent } from '../../surface/operations/agents.ts'
import { closeSession, pauseSession, resumeSession } from '../../surface/operations/session-commands.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { badUsage, budgetOf, budgetWords, jsonOption, reasonOption, take, whereOptions } from '../arguments.ts'
import { type Arguments, type Command, command } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { next, print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'

type Verb = (
  client: Client,
  session_id: string,
  why: { readonly reason?: string },
) => Promise<{ readonly session_id: string; readonly state: string }>

const verbOptions = { ...reasonOption, ...whereOptions, ...jsonOption } as const

function sessionVerb(name: string, summary: string, apply: Verb): Command {
  return command({
    name,
    usage: `statewright ${name} SESSION [-m REASON]`,
    summary,
    options: verbOptions,
    run(args, io) {
      return onSession(this, args, io, apply)
    },
  })
}

function onSession(command: Command, args: Arguments<typeof verbOptions>, io: Io, apply: Verb): Promise<number> {
  const [given = ''] = take(command, args, 1)
  return withClient(io, args, 'act', async (client) => {
    const { session_id } = await resolveId(client, given, 'session')
    const changed = await apply(client, session_id, withoutUndefined({ reason: args.values.message }))
    print(io, args, changed, () => [`${session_id} is ${changed.state}.`])
    next(io, args, `show ${session_id}`)
    return exits.ok
  })
}

/** The command `pause`. */
export const pauseCommand = sessionVerb(
  'pause',
  'Let no new turn begin in a session. What is under way comes to its end; answers are still taken.',
  (client, session_id, body) => client.call(pauseSession, { params: { session_id }, body }),
)

/** A suspended session is resumed by what suspended it: errors that a person looked at, or a budget with higher limits. */
export const resumeCommand = command({
  name: 'resume',
  usage: 'statewright resume SESSION [--budget LIMITS] [-m REASON]',
  summary: 'Bring back a session that was paused; or suspended, by its errors or, with higher limits, by its budget.',
  options: {
    budget: { type: 'string', summary: `its new limits, counted from its beginning: ${budgetWords}` },
    ...verbOptions,
  },

  run(args, io) {
    const budget = budgetOf(this, args, 'budget')
    return onSession(this, args, io, async (client, session_id, why) => {
      const { state, suspension } = await client.call(getSession, { params: { session_id } })
      if (suspension?.by === 'budget' && budget === undefined)
        throw badUsage(this, `It is suspended: ${suspension.reason} Name higher limits with --budget.`)
      if (budget !== undefined && state !== 'suspended')
        throw badUsage(this, `It is ${state}; a larger budget is for a session that is suspended.`)
      const body = { ...why, ...(budget !== undefined ? { budget } : suspension !== null && { reset: true }) }
      return client.call(resumeSession, { params: { session_id }, body })
    })
  },
})

/** The command `close`. */
export const closeCommand = sessionVerb(
  'close',
  'Cancel what is open in a session, terminate its agents and seal its log for good.',
  (client, session_id, body) => client.call(closeSession, { params: { session_id }, body }),
)

/** The command `spawn`. */
export const spawnCommand = command({
  name: 'spawn',
  usage: 'statewright spawn SESSION AGENT [--parent AGENT_ID] [--budget LIMITS]',
  summary: 'Let another agent join a session. With a parent, it works for that agent and ends with it.',
  options: {
    parent: { type: 'string', summary: 'the agent that it works for, by id; it draws on the budget of that one, too' },
    budget: { type: 'string', summary: `instead of what it is declared with: ${budgetWords}` },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = '', agent = ''] = take(this, args, 2)
    const budget = budgetOf(this, args, 'budget')
    const { parent } = args.values
    return withClient(io, args, 'act', async (client) => {
      const { session_id } = await resolveId(client, given, 'session')
      const parent_id = parent === undefined ? undefined : (await resolveId(client, parent, 'agent')).id
      const body = withoutUndefined({ agent, parent_id, budget })
      const spawned = await client.call(spawnAgent, { params: { session_id }, body })
      print(io, args, spawned, () => [`${spawned.agent_id} is ready in ${session_id}.`])
      next(io, args, `run "…" --session ${session_id} --agent ${agent}`)
      return exits.ok
    })
  },
})

/** The command `kill`. */
export const killCommand = command({
  name: 'kill',
  usage: 'statewright kill AGENT_ID [--force] [-m REASON]',
  summary: 'Stop an agent for good, and those that work for it. show SESSION --json lists their ids.',
  options: {
    force: { type: 'boolean', summary: 'also if it is in a turn: the turn and its runs end at once' },
    ...reasonOption,
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'act', async (client) => {
      const { id: agent_id, session_id } = await resolveId(client, given, 'agent')
      const body = withoutUndefined({ reason: args.values.message, force: args.values.force })
      const killed = await client.call(killAgent, { params: { agent_id }, body })
      print(io, args, killed, () => [`${agent_id} is terminated.`])
      next(io, args, `show ${session_id}`)
      return exits.ok
    })
  },
})
