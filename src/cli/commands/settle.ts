import { settle } from '../../surface/operations/inbox.ts'
import { answering, answeringOptions, keyed, signed } from '../answering.ts'
import type { Command } from '../command.ts'
import { badUsage, jsonOf } from '../usage.ts'

const outcomes = { happened: 'happened', 'did-not-happen': 'did_not_happen', leave: 'leave' } as const

export const settleCommand: Command = {
  name: 'settle',
  usage: 'statewright settle ID --happened [--result JSON] | --did-not-happen | --leave [-m REASON]',
  summary: 'Say what became of an action whose outcome nobody could know. Look before you say it.',
  options: {
    happened: { type: 'boolean', summary: 'it happened; it is not done again' },
    'did-not-happen': { type: 'boolean', summary: 'it did not happen; it may be tried again' },
    leave: { type: 'boolean', summary: 'let the run go on and leave the question open' },
    result: { type: 'string', summary: 'what came of it, as JSON' },
    message: { type: 'string', short: 'm', summary: 'how you know' },
    ...answeringOptions,
  },

  run(args, io) {
    const chosen = (Object.keys(outcomes) as (keyof typeof outcomes)[]).filter((name) => args.values[name])
    const [first] = chosen
    return answering(this, args, io, { done: 'settled' }, async (client, { interaction_id, interaction_kind }) => {
      if (first === undefined || chosen.length > 1)
        throw badUsage(this, 'Say one of --happened, --did-not-happen and --leave.')
      if (interaction_kind !== 'settlement')
        throw badUsage(this, `${interaction_id} is of the kind ${interaction_kind}, not a settlement.`)
      const { result, message } = args.values as Readonly<Record<string, string | undefined>>
      const body = {
        outcome: outcomes[first],
        ...(result !== undefined && { result: jsonOf(this, result, '--result') }),
        ...(message !== undefined && { reason: message }),
        ...signed(args),
      }
      return client.call(settle, { params: { interaction_id }, body, ...keyed(args) })
    })
  },
}
