import { shorten } from '../../observation/describe.ts'
import { runTrace } from '../../surface/operations/runs.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { columns } from '../render/columns.ts'
import { safeLine } from '../render/safe.ts'
import { clockTime } from '../render/when.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const traceCommand: Command = {
  name: 'trace',
  usage: 'statewright trace RUN',
  summary: 'What was done to the contracts of a run, step by step, by whom, and what came of it.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io.host, args, async (client) => {
      const { id: run_id } = await resolveId(client, given, 'run')
      const trace = await client.call(runTrace, { params: { run_id } })
      print(io, args, trace, () =>
        columns(
          trace.steps.map(({ timestamp, node_id, action, result, metadata }) => [
            clockTime(timestamp),
            node_id,
            action,
            metadata.trigger ?? '',
            result === null ? '' : shorten(safeLine(result), 120),
          ]),
        ),
      )
      if (trace.steps.length === 0) io.err('It has done nothing to the world.')
      return exits.ok
    })
  },
}
