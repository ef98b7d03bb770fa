import { faults } from '../../faults/catalogue.ts'
import { checkpointLine } from '../../runes/bundle.ts'
import { type Checkpoint, signCheckpoint } from '../../runes/checkpoint.ts'
import type { Client } from '../../surface/client.ts'
import { signSession } from '../../surface/operations/audit.ts'
import type { ExistingStore } from '../../surface/wiring.ts'
import { addLines } from '../add-lines.ts'
import type { Command } from '../command.ts'
import { everySession } from '../every-session.ts'
import { exits } from '../exits.ts'
import { hereOrThere, hereOrThereOptions } from '../here-or-there.ts'
import type { Host, Io } from '../host.ts'
import { print } from '../print.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption } from '../with-client.ts'
import { sessionNamed, take } from '../with-store.ts'

export const checkpointCommand: Command = {
  name: 'checkpoint',
  usage: 'statewright checkpoint [session] [-o FILE] [--json]',
  summary: 'Sign where each log ends. Keep the lines where nobody who can write to the store can change them.',
  options: {
    ...hereOrThereOptions,
    ...jsonOption,
    output: { type: 'string', short: 'o', summary: 'add the lines to this file instead of printing them' },
  },

  async run(args, io) {
    const [given] = take(this, args, 0, 1)
    const signed = await hereOrThere(io.host, args, {
      use: 'look',
      here: (store) => signHere(io.host, store, given),
      there: (client) => signThere(io, client, given),
    })
    const found = signed.filter((one) => one !== null)
    const lines = found.map(checkpointLine)
    const file = args.values.output as string | undefined
    // Each line is JSON already.
    if (file === undefined) for (const line of lines) io.out(line)
    else {
      await addLines(file, lines)
      const public_key = found[0]?.public_key ?? null
      print(io, args, { file, checkpoints: lines.length, public_key }, () => {
        const by = public_key === null ? '' : `, signed with the key ${public_key}`
        return [`${lines.length} ${lines.length === 1 ? 'checkpoint' : 'checkpoints'} added to ${file}${by}`]
      })
    }
    return found.length === signed.length ? exits.ok : exits.unproved
  },
}

async function signHere(host: Host, store: ExistingStore, given: string | undefined): Promise<(Checkpoint | null)[]> {
  const { runelog, signer } = store
  const signed: (Checkpoint | null)[] = []
  for (const id of given === undefined ? await runelog.sessionIds() : [await sessionNamed(store, given)]) {
    const head = await runelog.head(id)
    if (head === undefined) throw faults.not_found({ what: 'session', id })
    const { event_id, hash } = head
    signed.push(signCheckpoint({ session_id: id, event_id, hash, at: host.now() }, signer()))
  }
  return signed
}

/** The server signs what it has verified; null stands for a log that it found not to be sound. */
async function signThere({ err }: Io, client: Client, given: string | undefined): Promise<(Checkpoint | null)[]> {
  const ids = given === undefined ? await everySession(client) : [(await resolveId(client, given, 'session')).id]
  const signed: (Checkpoint | null)[] = []
  for (const session_id of ids) {
    const { checkpoint, first_bad } = await client.call(signSession, { params: { session_id }, body: {} })
    if (first_bad !== null) err(`${session_id} event ${first_bad.event_id}: ${first_bad.problem}`)
    signed.push(checkpoint)
  }
  return signed
}
