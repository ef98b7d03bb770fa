import type { Command } from '../command.ts'
import { take } from '../with-store.ts'

export const demoCommand: Command = {
  name: 'demo',
  usage: 'statewright demo [--folder DIR] [--yes]',
  summary: 'See an agent killed in the middle of a payment, and what comes of it. No key, no network, under 30 s.',
  options: {
    folder: { type: 'string', summary: 'where to keep the data; else a new temporary folder' },
    yes: {
      type: 'boolean',
      short: 'y',
      summary: 'let the demo answer its own questions; so it does without a terminal',
    },
  },

  async run(args, io) {
    take(this, args, 0)
    const { folder, yes = false } = args.values
    return io.host.playDemo(io, {
      folder: folder as string | undefined,
      answersItself: yes === true || !io.terminal.isInteractive,
    })
  },
}
