import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileBlobs } from '../adapters/files/blobs.ts'
import { hostPorts } from '../adapters/host/ports.ts'
import { auditSqlite } from '../adapters/sqlite/audit.ts'
import { auditCheckpoints, openCheckpoints } from '../adapters/sqlite/checkpoints.ts'
import { copyStore } from '../adapters/sqlite/copy.ts'
import { refuseAbsent } from '../adapters/sqlite/open-database.ts'
import { openSqliteReadOnly } from '../adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../adapters/sqlite/runelog.ts'
import type { BackedUp, Store } from '../cli/command.ts'
import { faults } from '../faults/catalogue.ts'
import type { Runelog } from '../runelog/port.ts'
import { runningRuns } from '../runtime/running-runs.ts'
import { models, segmentsFolder } from './open-store.ts'
import { keyFileOf } from './secret-files.ts'
import { keyFault, keyOf } from './store-key.ts'

/** Opens a store that exists, by its name. Wiring, like `main`: nothing in a room imports this. */
export async function openStore(url: string, use: 'look' | 'change'): Promise<Store> {
  const [scheme = ''] = url.split(':', 1)
  const refuse = (problem: string) => faults.store_unusable({ store: url, problem })
  if (scheme === 'postgres' || scheme === 'postgresql') return openPostgres(url)
  if (scheme !== 'sqlite') throw refuse('a store is named sqlite:FILE or postgres://HOST/DATABASE.')
  const path = url.slice('sqlite:'.length)
  refuseMissing(url)
  const key = keyOf(url)
  async function* damages() {
    yield* auditSqlite(path, models)
    const file = keyFileOf(url)
    // A copy whose key is kept elsewhere is no damage.
    if (!existsSync(file)) return
    const fault = keyFault(url)
    if (fault === undefined) yield* auditCheckpoints(`${path}.cache`, key.signer)
    else yield { what: 'key of the store', problem: fault.message }
  }
  if (use === 'look') {
    const { strays, ...runelog } = await openSqliteReadOnly(path, models)
    const discard = () => Promise.reject(new Error('This store is open for reading only.'))
    // No process writes to the store while this one looks at it.
    return { runelog, ...key, abandoned: () => runningRuns(runelog), damages, strays, discard }
  }
  const eraseBlobs = fileBlobs(`${path}.blobs`).erase
  const { strays, ...runelog } = await openSqliteRunelog(path, { ...hostPorts, ...key }, { models, eraseBlobs })
  return {
    runelog: { ...runelog, redact: withoutTrace(runelog, `${path}.cache`, key.signer) },
    ...key,
    abandoned: () => runningRuns(runelog),
    damages,
    strays,
    discard: ({ file }) => rm(file),
  }
}

/** What is erased goes from the checkpoints that workers keep beside the store, too; before, since this may be killed. */
function withoutTrace({ redact }: Runelog, cache: string, signer: Store['signer']): Runelog['redact'] {
  return async (session_id, ...asked) => {
    if (existsSync(cache)) {
      const checkpoints = openCheckpoints(cache, signer)
      checkpoints.forget(session_id)
      checkpoints.close()
    }
    await redact(session_id, ...asked)
  }
}

async function openPostgres(url: string): Promise<Store> {
  const segments = segmentsFolder()
  // Only who uses PostgreSQL pays for loading its client.
  const { openPostgresRunelog } = await import('../adapters/postgres/runelog.ts')
  const { abandonedRuns } = await import('../adapters/postgres/abandoned.ts')
  const key = keyOf(url)
  const { damages, ...runelog } = await openPostgresRunelog(url, { ...hostPorts, ...key }, { segments, models })
  return {
    runelog,
    ...key,
    abandoned: () => abandonedRuns(url),
    damages,
    strays: async () => [],
    discard: async () => {},
  }
}

/** Copies a store that is a file. A key that is not that of the store is no part of the copy. */
export async function backUp(url: string, folder: string): Promise<BackedUp> {
  if (!url.startsWith('sqlite:'))
    throw faults.store_unusable({
      store: url,
      problem: 'only a SQLite file is copied here; use pg_dump for PostgreSQL.',
    })
  refuseMissing(url)
  const fault = keyFault(url)
  const copy = copyStore(url.slice('sqlite:'.length), folder, fault === undefined ? keyFileOf(url) : undefined)
  return { store: `sqlite:${copy}`, key_problem: fault?.message ?? null }
}

/** Refuses a file that would be made by opening it. Only work makes a store. */
export function refuseMissing(url: string): void {
  if (url.startsWith('sqlite:')) refuseAbsent(url.slice('sqlite:'.length), url)
}
