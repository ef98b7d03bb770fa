import type { Command } from '../../command.ts'
import { keySummary } from './key-summary.ts'

export const planVerify: Command = {
  name: 'plan verify',
  usage: 'statewright plan verify DIR [--key FILE] [--json]',
  summary: 'Prove that no byte of a frozen plan was changed; with a key, also who signed it. Exit 5 if not.',
  options: {
    key: { type: 'string', summary: keySummary },
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, io) {
    return (await import('./verify-folder.ts')).verifyFolder(this, args, io)
  },
}
