import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const archiveCommand: Command = {
  name: 'archive',
  usage: 'statewright archive SESSION',
  summary: 'Move the log of a closed session to a compressed file beside the store. It stays readable and verifiable.',
  options: storeOption,

  async run(args, { host, out }) {
    const [session_id = ''] = take(this, args, 1)
    return withStore(host, args, async ({ runelog }) => {
      await runelog.archive(session_id)
      out(`${session_id} is archived.`)
      return exits.ok
    })
  },
}
