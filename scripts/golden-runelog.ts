/**
 * Writes a session with a rune of every kind to a bundle, and the rows that
 * follow from it, for `test/golden`. A golden file is written once, under a new
 * name, and read for ever after; an existing one is never overwritten.
 */
import { writeFileSync } from 'node:fs'
import { hostPorts } from '../src/adapters/host/ports.ts'
import { openSigner } from '../src/adapters/host/secret-files.ts'
import { accepted } from '../src/faults/catalogue.ts'
import { machineDigest } from '../src/kernel/digest.ts'
import { machines } from '../src/machines/all.ts'
import { openMemoryRunelog } from '../src/runelog/memory.ts'
import { allModels } from '../src/runelog/models.ts'
import type { Head } from '../src/runelog/port.ts'
import { bundleHeader, headerLine, lastLine, recordLine } from '../src/runes/bundle.ts'
import { signCheckpoint } from '../src/runes/checkpoint.ts'
import { everyKind } from '../test/support/every-kind.ts'

const [name, keyFile] = process.argv.slice(2)
if (name === undefined || keyFile === undefined) throw new TypeError('usage: golden-runelog.ts NAME KEY_FILE')

const session_id = 'ses_golden'
const signer = openSigner(keyFile)
const runelog = openMemoryRunelog({ ...hostPorts, signer: () => signer })
for (const runes of everyKind(session_id)) accepted(await runelog.append({ session_id, runes }))
await runelog.redact(session_id, 5, 'to have one that is redacted')
await runelog.archive(session_id)

const { event_id, hash } = (await runelog.head(session_id)) as Head
const digests = Object.fromEntries(machines.map((m) => [m.name, machineDigest(m, hostPorts.sha256)]))
const checkpoint = signCheckpoint({ session_id, event_id, hash, at: hostPorts.now() }, signer)
const header = bundleHeader(session_id, digests)
const lines = [
  headerLine(header),
  ...(await Array.fromAsync(runelog.records(session_id), recordLine)),
  lastLine(header, checkpoint, signer),
]
const models = allModels()
const rows = Object.fromEntries(
  await Promise.all(models.map(async (model) => [model.name, await runelog.rows(model)] as const)),
)
writeFileSync(`test/golden/${name}.bundle.ndjson`, `${lines.join('\n')}\n`, { flag: 'wx' })
writeFileSync(`test/golden/${name}.rows.golden.json`, `${JSON.stringify(rows, null, 1)}\n`, { flag: 'wx' })
console.log(`${event_id} events, signed with ${checkpoint.public_key}`)
