import { busy } from '../busy.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { jsonOption } from '../with-client.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: 'statewright rebuild',
  summary: 'Drop every read model and fold it anew from the runes.',
  options: { ...storeOption, ...jsonOption },

  async run(args, io) {
    take(this, args, 0)
    return withStore(io.host, args, 'change', async ({ runelog }) => {
      const runes = await busy(
        io,
        () => 'folding every rune anew',
        () => runelog.rebuild(),
      )
      print(io, args, { runes }, () => [`${runes} runes folded.`])
      return exits.ok
    })
  },
}
