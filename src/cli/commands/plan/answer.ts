import type { Command } from '../../command.ts'
import { whereOptions } from '../../with-client.ts'

export const planAnswer: Command = {
  name: 'plan answer',
  usage: 'statewright plan answer ID NAME=VALUE … | FILE [--as NAME] [-o DIR] [--store URL] [--server URL] [--json]',
  summary: 'Answer what a plan asks. What is not named gets its default; against the rules, it asks again.',
  options: {
    as: { type: 'string', summary: 'the name that is recorded with the answers' },
    out: { type: 'string', short: 'o', summary: 'write what is frozen to this folder' },
    ...whereOptions,
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, io) {
    return (await import('./answer-plan.ts')).answerQuestions(this, args, io)
  },
}
