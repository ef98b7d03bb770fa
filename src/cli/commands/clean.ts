import { mayGo } from '../../runelog/stray.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { next } from '../hint.ts'
import { print } from '../print.ts'
import { strayLine } from '../render/stray.ts'
import { jsonOption } from '../with-client.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const cleanCommand: Command = {
  name: 'clean',
  usage: 'statewright clean [--delete]',
  summary: 'List files beside a SQLite store that it does not refer to. Nothing is removed without --delete.',
  options: {
    ...storeOption,
    delete: {
      type: 'boolean',
      summary: 'remove drafts and copies; a file that is the only copy of events always stays',
    },
    ...jsonOption,
  },

  async run(args, io) {
    take(this, args, 0)
    const isDeleting = args.values.delete === true
    return withStore(io.host, args, isDeleting ? 'change' : 'look', async ({ strays, discard }) => {
      const found = await strays()
      const deleted = isDeleting ? found.filter(mayGo) : []
      for (const stray of deleted) await discard(stray)
      const files = found.map((stray) => ({ ...stray, deleted: deleted.includes(stray) }))
      print(io, args, { files }, () =>
        files.length === 0
          ? ['The store refers to every file beside it.']
          : files.map((file) => strayLine(file, file.deleted)),
      )
      if (!isDeleting && found.some(mayGo)) next(io, args, 'clean --delete')
      return exits.ok
    })
  },
}
