import { open, rename } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import { machineDigest } from '../../kernel/digest.ts'
import { machines } from '../../machines/all.ts'
import { bundleHeader, checkpointLine, recordLine } from '../../runes/bundle.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import { busy } from '../busy.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { print } from '../print.ts'
import { jsonOption } from '../with-client.ts'
import { sessionNamed, storeOption, take, withStore } from '../with-store.ts'

export const exportCommand: Command = {
  name: 'export',
  usage: 'statewright export SESSION -o FILE',
  summary: 'Write a session to a file that proves itself: every record, and a signed checkpoint.',
  options: { ...storeOption, ...jsonOption, output: { type: 'string', short: 'o', summary: 'the file to write' } },

  async run(args, io) {
    const { host } = io
    const [given = ''] = take(this, args, 1)
    const path = args.values.output as string | undefined
    if (path === undefined) throw faults.bad_usage({ problem: 'Say where to, with -o FILE.', usage: this.usage })
    return withStore(host, args, async (store) => {
      const { runelog, signer } = store
      const session_id = await sessionNamed(store, given)
      const head = await runelog.head(session_id)
      if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
      const digests = Object.fromEntries(machines.map((m) => [m.name, machineDigest(m, host.sha256)]))

      // The file gets its name when it is whole.
      const file = await open(`${path}.part`, 'w', 0o600)
      const { event_id, hash } = head
      let written = 0
      const write = async () => {
        await file.write(`${JSON.stringify(bundleHeader(session_id, digests))}\n`)
        for await (const record of runelog.records(session_id)) {
          // What came after the head was read is for the next export.
          if (record.event_id > event_id) break
          await file.write(`${recordLine(record)}\n`)
          written = record.event_id
        }
        await file.write(
          `${checkpointLine(signCheckpoint({ session_id, event_id, hash, at: host.now() }, signer()))}\n`,
        )
        await file.sync()
      }
      try {
        await busy(io, () => `writing: ${written} of ${event_id} events`, write)
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      const { public_key } = signer()
      print(io, args, { session_id, events: event_id, file: path, public_key }, () => [
        `${session_id}: ${event_id} events written to ${path}, signed with the key ${public_key}`,
      ])
      return exits.ok
    })
  },
}
