import { settle } from '../../surface/operations/inbox.ts'
import { answering, answeringOptions, keyed, signed } from '../answering.ts'
import type { Command } from '../command.ts'
import { badUsage, jsonOf, onlyOne } from '../usage.ts'

const outcomes = { happened: 'happened', 'did-not-happen': 'did_not', leave: 'leave' } as const

const whatLeavingDoes = 'the run ends as failed, and the question is asked again under another id'

export const settleCommand: Command = {
  name: 'settle',
  usage: 'statewright settle ID --happened [--result JSON] | --did-not-happen | --leave [-m REASON]',
  summary: 'Say what became of an action whose outcome is unknown. Look before you say it.',
  options: {
    happened: { type: 'boolean', summary: 'it happened; it is not done again' },
    'did-not-happen': { type: 'boolean', summary: 'it did not happen; it may be tried again' },
    leave: { type: 'boolean', summary: `you do not know; ${whatLeavingDoes}` },
    result: { type: 'string', summary: 'what came of it, as JSON' },
    message: { type: 'string', short: 'm', summary: 'how you know' },
    ...answeringOptions,
  },

  run(args, io) {
    const first = onlyOne(this, args, Object.keys(outcomes) as (keyof typeof outcomes)[])
    const done = first === 'leave' ? `not settled; ${whatLeavingDoes}` : 'settled'
    return answering(this, args, io, { done }, async (client, { interaction_id, interaction_kind }) => {
      if (first === undefined) throw badUsage(this, 'Say one of --happened, --did-not-happen and --leave.')
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
