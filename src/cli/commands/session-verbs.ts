import type { Client } from '../../surface/client.ts'
import { closeSession, pauseSession, resumeSession } from '../../surface/operations/session-commands.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { budgetOf, budgetWords } from '../budget-of.ts'
import type { Arguments, Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import type { Io } from '../host.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { badUsage } from '../usage.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

type Verb = (
  client: Client,
  session_id: string,
  why: { readonly reason?: string },
) => Promise<{ readonly session_id: string; readonly state: string }>

const verbOptions = {
  message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
  ...whereOptions,
  ...jsonOption,
} as const

function sessionVerb(name: string, summary: string, apply: Verb): Command {
  return {
    name,
    usage: `statewright ${name} SESSION [-m REASON]`,
    summary,
    options: verbOptions,
    run(args, io) {
      return onSession(this, args, io, apply)
    },
  }
}

function onSession(command: Command, args: Arguments, io: Io, apply: Verb): Promise<number> {
  const [given = ''] = take(command, args, 1)
  const work = async (client: Client) => {
    const { session_id } = await resolveId(client, given, 'session')
    const reason = args.values.message as string | undefined
    const stands = await apply(client, session_id, reason === undefined ? {} : { reason })
    print(io, args, stands, () => [`${session_id} is ${stands.state}.`])
    next(io, args, `show ${session_id}`)
    return exits.ok
  }
  return withClient(io.host, args, work, 'act')
}

export const pauseCommand = sessionVerb(
  'pause',
  'Let no new turn begin in a session. What is under way comes to its end; answers are still taken.',
  (client, session_id, body) => client.call(pauseSession, { params: { session_id }, body }),
)

/** A suspended session comes back by what suspended it: errors that someone looked at, or a budget with higher limits. */
export const resumeCommand: Command = {
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
}

export const closeCommand = sessionVerb(
  'close',
  'Cancel what is open in a session, terminate its agents and seal its log for good.',
  (client, session_id, body) => client.call(closeSession, { params: { session_id }, body }),
)
