import { deny } from '../../surface/operations/inbox.ts'
import { answering, answeringOptions, keyed, signed } from '../answering.ts'
import type { Command } from '../command.ts'
import { badUsage } from '../usage.ts'

export const denyCommand: Command = {
  name: 'deny',
  usage: 'statewright deny ID [-m REASON]',
  summary: 'Do not let an action be carried out. The agent is told why.',
  options: { message: { type: 'string', short: 'm', summary: 'why; the agent reads it' }, ...answeringOptions },

  run(args, io) {
    return answering(this, args, io, { done: 'denied' }, async (client, { interaction_id, interaction_kind }) => {
      if (interaction_kind !== 'approval')
        throw badUsage(this, `${interaction_id} is a ${interaction_kind}, not an approval.`)
      const reason = args.values.message as string | undefined
      const body = { ...(reason !== undefined && { reason }), ...signed(args) }
      return client.call(deny, { params: { interaction_id }, body, ...keyed(args) })
    })
  },
}
