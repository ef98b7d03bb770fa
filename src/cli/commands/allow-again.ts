import type { Client } from '../../surface/client.ts'
import { allowAgain } from '../../surface/operations/corrections.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const allowAgainCommand: Command = {
  name: 'allow-again',
  usage: 'statewright allow-again EXECUTION',
  summary: 'Let an irreversible action that was done be done once more. The next call for it gets a key of its own.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const work = async (client: Client) => {
      const { id: execution_id } = await resolveId(client, given, 'execution')
      const allowed = await client.call(allowAgain, { params: { execution_id }, body: {} })
      print(io, args, allowed, () => [`${execution_id}: the same action may be done once more.`])
      next(io, args, `show ${execution_id}`)
      return exits.ok
    }
    return withClient(io.host, args, work, 'act')
  },
}
