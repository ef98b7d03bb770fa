import { getTimeline } from '../../surface/operations/executions.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { paintFor } from '../render/paint.ts'
import { timelineLines } from '../render/timeline.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const timelineCommand: Command = {
  name: 'timeline',
  usage: 'statewright timeline SESSION',
  summary: 'Every action of a session as a bar in time, with all its moves and who made them.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io.host, args, async (client) => {
      const { session_id } = await resolveId(client, given, 'session', 'run')
      const timeline = await client.call(getTimeline, { params: { session_id } })
      print(io, args, timeline, () => timelineLines(timeline, io.host.now(), paintFor(io.terminal.hasColor)))
      return exits.ok
    })
  },
}
