import type { Command } from '../../command.ts'
import { whereOptions } from '../../with-client.ts'

export const planShow: Command = {
  name: 'plan show',
  usage: 'statewright plan show [ID] [--moves] [-o DIR] [--store URL] [--server URL] [--json]',
  summary: 'Where a plan of a store stands, and what it asks; without an id, every plan there is.',
  options: {
    moves: { type: 'boolean', summary: 'every move with its time, how long it took, and the guards' },
    out: { type: 'string', short: 'o', summary: 'write what is frozen to this folder' },
    ...whereOptions,
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, io) {
    return (await import('./show-plan.ts')).showPlan(this, args, io)
  },
}
