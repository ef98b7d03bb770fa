import { getOccupancy } from '../../surface/operations/machines.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { columns } from '../render/columns.ts'
import { ago } from '../render/when.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'

export const occupancyCommand: Command = {
  name: 'occupancy',
  usage: 'statewright occupancy',
  summary: 'How many sessions, runs, questions and all else are in each state that is not an end, and since when.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    take(this, args, 0)
    return withClient(io.host, args, async (client) => {
      const board = await client.call(getOccupancy, {})
      const rows = board.machines.flatMap(({ machine, states }) =>
        states.flatMap(({ state, count, is_capped, oldest_since }) =>
          count === 0
            ? []
            : [[machine, state, `${is_capped ? 'at least ' : ''}${count}`, oldestOf(oldest_since, io.host.now())]],
        ),
      )
      print(io, args, board, () => columns(rows))
      if (rows.length === 0 && !args.values.json) io.err('Everything is over.')
      return exits.ok
    })
  },
}

const oldestOf = (since: number | null, now: number) => (since === null ? '' : `oldest ${ago(since, now)}`)
