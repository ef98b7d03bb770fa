import { archiveSession } from '../../surface/operations/session-commands.ts'
import { busy } from '../busy.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { hereOrThere, hereOrThereOptions } from '../here-or-there.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption } from '../with-client.ts'
import { sessionNamed, take } from '../with-store.ts'

export const archiveCommand: Command = {
  name: 'archive',
  usage: 'statewright archive SESSION',
  summary: 'Move the log of a closed session to a compressed file beside the store. It stays readable and verifiable.',
  options: { ...hereOrThereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const archiving = async (session_id: string, work: () => Promise<unknown>) => {
      await busy(io, () => `archiving ${session_id}`, work)
      return session_id
    }
    const session_id = await hereOrThere(io.host, args, {
      use: 'change',
      here: async (store) => {
        const id = await sessionNamed(store, given)
        return archiving(id, () => store.runelog.archive(id))
      },
      there: async (client) => {
        const { id } = await resolveId(client, given, 'session')
        return archiving(id, () => client.call(archiveSession, { params: { session_id: id }, body: {} }))
      },
    })
    print(io, args, { session_id, state: 'archived' }, () => [`${session_id} is archived.`])
    return exits.ok
  },
}
