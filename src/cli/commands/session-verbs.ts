import type { Client } from '../../surface/client.ts'
import { closeSession, pauseSession, resumeSession } from '../../surface/operations/session-commands.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

type Verb = (
  client: Client,
  session_id: string,
  why: { readonly reason?: string },
) => Promise<{ readonly session_id: string; readonly state: string }>

function sessionVerb(name: string, summary: string, apply: Verb): Command {
  return {
    name,
    usage: `statewright ${name} SESSION [-m REASON]`,
    summary,
    options: {
      message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
      ...whereOptions,
      ...jsonOption,
    },

    async run(args, io) {
      const [given = ''] = take(this, args, 1)
      const work = async (client: Client) => {
        const { session_id } = await resolveId(client, given, 'session')
        const reason = args.values.message as string | undefined
        const stands = await apply(client, session_id, reason === undefined ? {} : { reason })
        print(io, args, stands, () => [`${session_id} is ${stands.state}.`])
        next(io, args, `show ${session_id}`)
        return exits.ok
      }
      return withClient(io.host, args, work, 'act')
    },
  }
}

export const pauseCommand = sessionVerb(
  'pause',
  'Let no new turn begin in a session. What is under way comes to its end; answers are still taken.',
  (client, session_id, body) => client.call(pauseSession, { params: { session_id }, body }),
)

export const resumeCommand = sessionVerb(
  'resume',
  'Bring back a session that was paused, or suspended for its errors.',
  (client, session_id) => client.call(resumeSession, { params: { session_id }, body: {} }),
)

export const closeCommand = sessionVerb(
  'close',
  'Cancel what is open in a session, terminate its agents and seal its log for good.',
  (client, session_id, body) => client.call(closeSession, { params: { session_id }, body }),
)
