import type { Command } from '../../command.ts'
import { whereOptions } from '../../with-client.ts'
import { inputOptions } from './input-options.ts'
import { keySummary } from './key-summary.ts'

export const planMake: Command = {
  name: 'plan INTENT',
  usage:
    'statewright plan INTENT [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--recovers ID|DIR] [-o DIR] [--key FILE] [--store URL] [--server URL] [--json]',
  summary: 'Make a plan of an intent: judged, frozen, with a reason for every verdict. Nothing runs.',
  options: {
    ...inputOptions,
    recovers: {
      type: 'string',
      summary: 'the plan that this one takes the place of: its id in the store, or its folder without one',
    },
    out: { type: 'string', short: 'o', summary: 'write what is frozen to this folder' },
    key: { type: 'string', summary: keySummary },
    timeout: { type: 'string', summary: 'seconds after which the defaults stand for answers; else it waits for ever' },
    ...whereOptions,
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, io) {
    return (await import('./make-plan.ts')).makePlan(this, args, io)
  },
}
