import { faults } from '../faults/catalogue.ts'
import { machineDigest } from '../kernel/digest.ts'
import { machines } from '../machines/all.ts'
import { bundleHeader, headerLine, lastLine, recordLine } from '../runes/bundle.ts'
import { signCheckpoint } from '../runes/checkpoint.ts'
import { id } from '../wire/common.ts'
import type { Backend } from './backend.ts'

/** A session as a file that proves itself: every record up to now, and a signed checkpoint. Refused before it begins. */
export async function bundleLines(backend: Backend, session_id: string): Promise<AsyncIterable<string>> {
  const head = id.safeParse(session_id).success ? await backend.runelog.head(session_id) : undefined
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const { event_id, hash } = head
  const signer = backend.signer()
  const checkpoint = signCheckpoint({ session_id, event_id, hash, at: backend.now() }, signer)
  const digests = Object.fromEntries(machines.map((machine) => [machine.name, machineDigest(machine, backend.sha256)]))

  const header = bundleHeader(session_id, digests)

  return (async function* () {
    yield `${headerLine(header)}\n`
    for await (const record of backend.runelog.records(session_id)) {
      // Recorded after the head was read: the next export has it.
      if (record.event_id > event_id) break
      yield `${recordLine(record)}\n`
    }
    yield `${lastLine(header, checkpoint, signer)}\n`
  })()
}
