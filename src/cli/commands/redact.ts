import { redactRune } from '../../surface/operations/corrections.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { hereOrThere, hereOrThereOptions } from '../here-or-there.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { badUsage, wholeNumber } from '../usage.ts'
import { jsonOption } from '../with-client.ts'
import { sessionNamed, take } from '../with-store.ts'

export const redactCommand: Command = {
  name: 'redact',
  usage: 'statewright redact SESSION EVENT_ID --reason TEXT',
  summary: 'Erase the content of one event for good. That it was erased, and why, is recorded; the log still verifies.',
  options: { ...hereOrThereOptions, ...jsonOption, reason: { type: 'string', summary: 'why; it is recorded' } },

  async run(args, io) {
    const [given = '', event = ''] = take(this, args, 2)
    const { reason } = args.values
    const event_id = wholeNumber(this, 'EVENT_ID', event, [1, Number.MAX_SAFE_INTEGER])
    if (typeof reason !== 'string' || reason === '') throw badUsage(this, 'A redaction needs a reason.')
    const session_id = await hereOrThere(io.host, args, {
      use: 'change',
      here: async (store) => {
        const id = await sessionNamed(store, given)
        await store.runelog.redact(id, event_id, reason)
        return id
      },
      there: async (client) => {
        const { id } = await resolveId(client, given, 'session')
        await client.call(redactRune, { params: { session_id: id, event_id }, body: { reason } })
        return id
      },
    })
    print(io, args, { session_id, event_id, reason }, () => [`${session_id} event ${event_id}: its content is erased.`])
    return exits.ok
  },
}
