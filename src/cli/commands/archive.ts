import { busy } from '../busy.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { jsonOption } from '../with-client.ts'
import { sessionNamed, storeOption, take, withStore } from '../with-store.ts'

export const archiveCommand: Command = {
  name: 'archive',
  usage: 'statewright archive SESSION',
  summary: 'Move the log of a closed session to a compressed file beside the store. It stays readable and verifiable.',
  options: { ...storeOption, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withStore(io.host, args, async (store) => {
      const session_id = await sessionNamed(store, given)
      await busy(
        io,
        () => `archiving ${session_id}`,
        () => store.runelog.archive(session_id),
      )
      print(io, args, { session_id, state: 'archived' }, () => [`${session_id} is archived.`])
      return exits.ok
    })
  },
}
