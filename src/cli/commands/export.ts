import { open, rename } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import { machineDigest } from '../../kernel/digest.ts'
import { machines } from '../../machines/all.ts'
import { bundleHeader, checkpointLine, recordLine } from '../../runes/bundle.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const exportCommand: Command = {
  name: 'export',
  usage: 'statewright export SESSION -o FILE',
  summary: 'Write a session to a file that proves itself: every record, and a signed checkpoint.',
  options: { ...storeOption, output: { type: 'string', short: 'o', summary: 'the file to write' } },

  async run(args, { host, out }) {
    const [session_id = ''] = take(this, args, 1)
    const path = args.values.output as string | undefined
    if (path === undefined) throw faults.bad_usage({ problem: 'Say where to, with -o FILE.', usage: this.usage })
    return withStore(host, args, async ({ runelog, signer }) => {
      const head = await runelog.head(session_id)
      if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
      const digests = Object.fromEntries(machines.map((m) => [m.name, machineDigest(m, host.sha256)]))

      // The file gets its name when it is whole.
      const file = await open(`${path}.part`, 'w', 0o600)
      try {
        await file.write(`${JSON.stringify(bundleHeader(session_id, digests))}\n`)
        const { event_id, hash } = head
        for await (const record of runelog.records(session_id)) {
          // What came after the head was read is for the next export.
          if (record.event_id > event_id) break
          await file.write(`${recordLine(record)}\n`)
        }
        await file.write(
          `${checkpointLine(signCheckpoint({ session_id, event_id, hash, at: host.now() }, signer()))}\n`,
        )
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      out(`${session_id}: ${head.event_id} events written to ${path}, signed with the key ${signer().public_key}`)
      return exits.ok
    })
  },
}
