import { busy } from '../busy.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { safeLine } from '../render/safe.ts'
import { jsonOption } from '../with-client.ts'
import { storeOption, take } from '../with-store.ts'

export const backupCommand: Command = {
  name: 'backup',
  usage: 'statewright backup FOLDER',
  summary: 'Copy a SQLite store, with its key and its files, into a new folder; also while a server works on it.',
  options: { ...storeOption, ...jsonOption },

  async run(args, io) {
    const [folder = ''] = take(this, args, 1)
    const copied = await busy(
      io,
      () => 'copying',
      () => io.host.backUp(args.values.store as string | undefined, folder),
    )
    print(io, args, copied, () => [`Copied to ${copied.store}.`])
    if (copied.key_problem !== null) io.err(`The key of the store is not in the copy: ${safeLine(copied.key_problem)}`)
    next(io, { positionals: [], values: { json: args.values.json } }, `verify --store ${copied.store}`)
    return copied.key_problem === null ? exits.ok : exits.failed
  },
}
