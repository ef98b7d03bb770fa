import type { Client } from '../../surface/client.ts'
import { steerRun } from '../../surface/operations/run-commands.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const steerCommand: Command = {
  name: 'steer',
  usage: 'statewright steer RUN "NEW INPUT"',
  summary: 'Give a run new input. Its turn ends at a safe boundary, and the next one begins with it.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = '', input = ''] = take(this, args, 2)
    const work = async (client: Client) => {
      const { id: run_id } = await resolveId(client, given, 'run')
      const steered = await client.call(steerRun, { params: { run_id }, body: { input } })
      print(io, args, steered, () => [`${run_id}: it gets that at its next boundary.`])
      next(io, args, `watch ${run_id}`)
      return exits.ok
    }
    return withClient(io.host, args, work, 'act')
  },
}
