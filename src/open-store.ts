import { fileBlobs } from './adapters/files/blobs.ts'
import { openCheckpoints } from './adapters/sqlite/checkpoints.ts'
import { openSqliteRunelog } from './adapters/sqlite/runelog.ts'
import { faults } from './faults/catalogue.ts'
import { openMemoryRunelog } from './runelog/memory.ts'
import type { Runelog } from './runelog/port.ts'
import type { Ports, RunelogOptions } from './runelog/ports.ts'
import { createRedactor, type Redactor } from './runelog/redactor.ts'
import { type Blobs, memoryBlobs } from './runtime/blobs.ts'
import { type Checkpoints, noCheckpoints } from './runtime/checkpoints.ts'
import { openInteractions } from './runtime/models/interactions.ts'

export interface Store {
  readonly runelog: Runelog
  readonly blobs: Blobs
  readonly checkpoints: Checkpoints
  /** Nobody else writes to it while it is open here. */
  readonly isExclusive: boolean
}

/** The read models that the runtime adds to the log's own. Every process on a store opens it with these. */
export const models = [openInteractions]

/** Opens the store that a URL names. Secrets are taken out of everything before it is written. */
export async function openStore(
  url: string,
  ports: Ports,
  secrets: Readonly<Record<string, string>> = {},
): Promise<Store> {
  const redactor = createRedactor({ secrets: new Map(Object.entries(secrets)) })
  const options: RunelogOptions = { models, redactor }
  if (url === 'memory:') {
    const blobs = withoutSecrets(memoryBlobs(ports.sha256), redactor)
    return { runelog: openMemoryRunelog(ports, options), blobs, checkpoints: noCheckpoints, isExclusive: true }
  }
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    const runelog = await openSqliteRunelog(path, ports, options)
    const blobs = withoutSecrets(fileBlobs(`${path}.blobs`), redactor)
    return { runelog, blobs, checkpoints: openCheckpoints(`${path}.cache`), isExclusive: true }
  }
  throw faults.bad_usage({
    problem: `The store "${url}" is of no kind we know.`,
    usage: 'sqlite:./file.db, postgres://… or memory:',
  })
}

function withoutSecrets(blobs: Blobs, redactor: Redactor): Blobs {
  return { ...blobs, keep: (text) => blobs.keep(redactor.clean(text).value as string) }
}
