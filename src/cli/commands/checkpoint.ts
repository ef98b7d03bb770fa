import { appendFile } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import { fileRefused } from '../../faults/file-refused.ts'
import { checkpointLine } from '../../runes/bundle.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { sessionNamed, storeOption, take, withStore } from '../with-store.ts'

export const checkpointCommand: Command = {
  name: 'checkpoint',
  usage: 'statewright checkpoint [session] [-o FILE]',
  summary: 'Sign where each log ends. Keep the lines where nobody who can write to the store can change them.',
  options: {
    ...storeOption,
    output: { type: 'string', short: 'o', summary: 'add the lines to this file instead of printing them' },
  },

  async run(args, { host, out }) {
    const [given] = take(this, args, 0, 1)
    return withStore(host, args, async (store) => {
      const { runelog, signer } = store
      const lines: string[] = []
      for (const id of given === undefined ? await runelog.sessionIds() : [await sessionNamed(store, given)]) {
        const head = await runelog.head(id)
        if (head === undefined) throw faults.not_found({ what: 'session', id })
        const { event_id, hash } = head
        lines.push(checkpointLine(signCheckpoint({ session_id: id, event_id, hash, at: host.now() }, signer())))
      }
      const file = args.values.output as string | undefined
      if (file === undefined) for (const line of lines) out(line)
      else {
        await appendFile(file, lines.map((line) => `${line}\n`).join('')).catch((error) => {
          throw fileRefused(file, error)
        })
        out(
          `${lines.length} ${lines.length === 1 ? 'checkpoint' : 'checkpoints'} added to ${file}, signed with the key ${signer().public_key}`,
        )
      }
      return exits.ok
    })
  },
}
