import { cancelRun, interruptRun } from '../../surface/operations/run-commands.ts'
import { getRun } from '../../surface/operations/runs.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const cancelCommand: Command = {
  name: 'cancel',
  usage: 'statewright cancel RUN [--gently] [-m REASON]',
  summary: 'Stop a run now. An irreversible action that has begun is never called cancelled: you are asked about it.',
  options: {
    gently: { type: 'boolean', summary: 'let the effects that are under way finish first' },
    message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(
      io.host,
      args,
      async (client) => {
        const { id: run_id } = await resolveId(client, given, 'run')
        const reason = args.values.message as string | undefined
        const asked = { params: { run_id }, body: reason === undefined ? {} : { reason } }
        const stopped = await client.call(args.values.gently ? interruptRun : cancelRun, asked)
        const { status, is_terminal, pending_interaction_ids } = await client.call(getRun, { params: { run_id } })
        const stands = is_terminal ? `${run_id} is ${status}.` : `${run_id} is ${status}, and it is to stop.`
        const late = `${run_id} was ${stopped.status} already; nothing was done.`
        print(io, args, stopped, () => [stopped.accepted ? stands : late])
        const unknown = is_terminal ? pending_interaction_ids : []
        if (unknown.length > 0 && !args.values.json)
          io.err('The outcome of an action is unknown. Look whether it happened, then settle it.')
        next(io, args, ...unknown.map((interaction_id) => `inbox ${interaction_id}`), `show ${run_id}`)
        return stopped.accepted ? exits.ok : exits.conflict
      },
      'act',
    )
  },
}
