import type { Client } from '../../surface/client.ts'
import { killAgent, spawnAgent } from '../../surface/operations/agents.ts'
import { budgetOf, budgetWords } from '../budget-of.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const spawnCommand: Command = {
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
    const parent = args.values.parent as string | undefined
    const work = async (client: Client) => {
      const { session_id } = await resolveId(client, given, 'session')
      const parent_id = parent === undefined ? undefined : (await resolveId(client, parent, 'agent')).id
      const body = { agent, ...(parent_id !== undefined && { parent_id }), ...(budget !== undefined && { budget }) }
      const spawned = await client.call(spawnAgent, { params: { session_id }, body })
      print(io, args, spawned, () => [`${spawned.agent_id} is ready in ${session_id}.`])
      next(io, args, `run "…" --session ${session_id} --agent ${agent}`)
      return exits.ok
    }
    return withClient(io.host, args, work, 'act')
  },
}

export const killCommand: Command = {
  name: 'kill',
  usage: 'statewright kill AGENT_ID [--force] [-m REASON]',
  summary: 'Stop an agent for good, and those that work for it. show SESSION --json lists their ids.',
  options: {
    force: { type: 'boolean', summary: 'also if it is in a turn: its runs are cancelled first' },
    message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const reason = args.values.message as string | undefined
    const work = async (client: Client) => {
      const { id: agent_id, session_id } = await resolveId(client, given, 'agent')
      const body = { ...(reason !== undefined && { reason }), ...(args.values.force === true && { force: true }) }
      const killed = await client.call(killAgent, { params: { agent_id }, body })
      print(io, args, killed, () => [`${agent_id} is terminated.`])
      next(io, args, `show ${session_id}`)
      return exits.ok
    }
    return withClient(io.host, args, work, 'act')
  },
}
