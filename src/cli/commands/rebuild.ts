import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: 'statewright rebuild',
  summary: 'Drop every read model and fold it anew from the runes.',
  options: storeOption,

  async run(args, { host, out }) {
    take(this, args, 0)
    return withStore(host, args, async ({ runelog }) => {
      out(`${await runelog.rebuild()} runes folded.`)
      return exits.ok
    })
  },
}
