import type { Command } from '../../command.ts'
import { whereOptions } from '../../with-client.ts'
import { inputOptions } from './input-options.ts'

export const planExplain: Command = {
  name: 'plan explain',
  usage:
    'statewright plan explain INTENT|DIR|ID [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--json]',
  summary: 'Say why each command got its verdict: the rules that spoke, their reasons, the evidence, the guards.',
  options: { ...inputOptions, ...whereOptions, json: { type: 'boolean', summary: 'print one JSON object' } },

  async run(args, io) {
    return (await import('./explain-plan.ts')).explainPlan(this, args, io)
  },
}
