import { shorten } from '../../observation/describe.ts'
import { listMemory } from '../../surface/operations/memory.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { columns } from '../render/columns.ts'
import { safeLine } from '../render/safe.ts'
import { clockTime } from '../render/when.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const memoryCommand: Command = {
  name: 'memory',
  usage: 'statewright memory SESSION [--agent ID]',
  summary: 'What the agents of a session remember of what they did: each action, how it ended, and what came of it.',
  options: {
    agent: { type: 'string', summary: 'only what this agent remembers (agt_…)' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io.host, args, async (client) => {
      const { id: session_id } = await resolveId(client, given, 'session')
      const { agent } = args.values
      const query = { limit: 1_000, ...(agent === undefined ? {} : { agent_id: agent as string }) }
      const memory = await client.call(listMemory, { params: { session_id }, query })
      print(io, args, memory, () =>
        columns(
          memory.items.map(({ at, action_summary, final_status, irreversible, result_summary, error_summary }) => [
            clockTime(at),
            shorten(safeLine(action_summary), 40),
            irreversible ? `${final_status}, cannot be undone` : final_status,
            shorten(safeLine(result_summary ?? error_summary ?? ''), 120),
          ]),
        ),
      )
      if (memory.items.length === 0) io.err('Nothing is remembered of it.')
      return exits.ok
    })
  },
}
