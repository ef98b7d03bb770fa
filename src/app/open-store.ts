import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileBlobs } from '../adapters/files/blobs.ts'
import { hostPorts, systemClock, systemTimers } from '../adapters/host/ports.ts'
import { abandonedRuns } from '../adapters/postgres/members.ts'
import { openPostgresRunelog } from '../adapters/postgres/runelog.ts'
import { openPostgresStore } from '../adapters/postgres/shared-store.ts'
import { auditSqlite } from '../adapters/sqlite/audit.ts'
import { copyStore } from '../adapters/sqlite/copy.ts'
import { auditFoldCache, openFoldCache } from '../adapters/sqlite/fold-cache.ts'
import { refuseAbsent } from '../adapters/sqlite/open-database.ts'
import { openSqliteReadOnly } from '../adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../adapters/sqlite/runelog.ts'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { coordinations } from '../autonomy/plans/recorded.ts'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { shownStore } from '../kernel/printable.ts'
import { openMemoryRunelog } from '../runelog/memory.ts'
import type { Runelog, RunelogOptions, StorePorts } from '../runelog/port.ts'
import { createRedactor, type Redactor } from '../runelog/redactor.ts'
import { budgets, delegated, openInteractions, waitingRuns } from '../runtime/models/open-work.ts'
import { listings, outputs, search, summaries } from '../runtime/models/summaries.ts'
import { type FoldCache, noFoldCache } from '../runtime/session-cache.ts'
import { type Blobs, memoryBlobs, runningRuns, type SharedStore } from '../runtime/store.ts'
import { parseStoreUrl } from '../surface/store-url.ts'
import type { BackedUp, ExistingStore } from '../surface/wiring.ts'
import { defaultSettings } from './defaults.ts'
import { proveHere, proveInThreads } from './prove.ts'
import { keyFault, keyFileOf, keyOf, signerOf } from './store-key.ts'
import { cleaning, type Warn, warnOnStderr } from './warnings.ts'

declare const opened: unique symbol

/** A store that is open. Hand it to `createStatewright`; close it with its own `close`, if it has one. */
export interface OpenStore {
  readonly [opened]?: never
}

/** A store that a process works on. */
export interface Store extends OpenStore {
  /** The logs of the sessions. */
  readonly runelog: Runelog
  /** Content that is kept outside the logs, by its hash. */
  readonly blobs: Blobs
  /** Folded sessions that are kept over restarts. */
  readonly foldCache: FoldCache
  /** Removes registered secrets. */
  readonly redactor: Redactor
  /** No other process writes to the store while it is open here. */
  readonly isExclusive: boolean
  /** Publishes the address of this server for processes that find the store locked. */
  readonly announce?: (address: string) => void
  /** Leases, queue and membership, if several processes may work on the store. */
  readonly shared?: SharedStore
  /** Releases the files that the store protects from tools. */
  readonly release?: () => void
}

interface StoreOptions {
  /** Hashing, time and randomness; a test moves them by hand. */
  readonly ports?: StorePorts
  /** Values that never reach the disk, by name. */
  readonly secrets?: Readonly<Record<string, string>>
  /** How long the process holds a run of a shared store without renewing. */
  readonly leaseMs?: number
  readonly warn?: Warn
  /** Called once, when the store refuses everything from then on. */
  readonly broken?: (fault: Fault) => void
}

/** The read models that the runtime adds to the log's own. Every process must open a store with these. */
export const models = [
  openInteractions,
  waitingRuns,
  delegated,
  budgets,
  summaries,
  listings,
  search,
  outputs,
  coordinations,
]

/** Opens the store that a URL names, and makes it if it does not exist. Secrets are removed before anything is written. */
export async function openStore(url: string, how: StoreOptions = {}): Promise<Store> {
  const { ports: given = hostPorts, secrets = {}, broken, leaseMs = defaultSettings.leaseMs } = how
  const place = parseStoreUrl(url)
  const ports = { ...given, signer: signerOf(url) }
  const redactor = createRedactor({ secrets: new Map(Object.entries(secrets)) })
  const options: RunelogOptions = { models, redactor, ...(broken === undefined ? {} : { broken }) }
  if (place.kind === 'memory') {
    const blobs = withoutSecrets(memoryBlobs(ports.sha256), redactor)
    const runelog = openMemoryRunelog(ports, { ...options, eraseBlobs: blobs.erase })
    return { runelog, blobs, foldCache: noFoldCache, redactor, isExclusive: true }
  }
  if (place.kind === 'sqlite') {
    const { path } = place
    const { leftovers: leftBlobs, ...files } = fileBlobs(`${path}.blobs`)
    const blobs = withoutSecrets(files, redactor)
    const runelog = await openSqliteRunelog(path, ports, { ...options, eraseBlobs: blobs.erase, leftBlobs })
    try {
      const release = claimOwnFile(path)
      const foldCache = openFoldCache(`${path}.cache`, ports.signer)
      return { runelog, blobs, foldCache, redactor, isExclusive: true, announce: runelog.announce, release }
    } catch (error) {
      await runelog.close()
      throw error
    }
  }
  const warn = cleaning(secrets, redactor).cleanWarn(how.warn ?? warnOnStderr)
  // Leases always run on the system clock: no test moves this time by hand.
  const time = { clock: systemClock, timers: systemTimers }
  const sharing = { lease_ms: leaseMs, warn, ...(broken === undefined ? {} : { broken }), ...time }
  const store = await openPostgresStore(url, ports, { ...options, segments: segmentsFolder() }, sharing)
  const blobs = withoutSecrets(store.blobs, redactor)
  const release = claimOwnFile(segmentsFolder())
  return { ...store, blobs, foldCache: noFoldCache, redactor, isExclusive: false, release }
}

/** The folder of the archived sessions of a PostgreSQL store. Every process of the store must see the same folder. */
const segmentsFolder = (): string => process.env.STATEWRIGHT_SEGMENTS ?? './statewright.segments'

/** Closes a store that `openStore` opened. */
export async function closeStore({ runelog, foldCache, shared, release }: Store): Promise<void> {
  release?.()
  foldCache.close()
  await shared?.close()
  await runelog.close()
}

function withoutSecrets(blobs: Blobs, redactor: Redactor): Blobs {
  return { ...blobs, keep: async (text) => blobs.keep(await redactor.redactLong(text)) }
}

/** Opens a store that exists, for a command that looks at it or changes its record. Makes nothing. */
export async function openExisting(url: string, use: 'look' | 'change'): Promise<ExistingStore> {
  const place = parseStoreUrl(url)
  if (place.kind === 'memory')
    throw faults.store_unusable({ store: url, problem: 'a store in memory ends with its process.' })
  if (place.kind === 'postgres') return existingPostgres(url)
  const { path } = place
  refuseMissing(url)
  const key = keyOf(url)
  async function* damages() {
    yield* auditSqlite(path, models)
    const file = keyFileOf(url)
    // A missing key file is not damage: a copy may have its key elsewhere.
    if (!existsSync(file)) return
    const fault = keyFault(url)
    if (fault === undefined) yield* auditFoldCache(`${path}.cache`, key.signer)
    else yield { what: 'key of the store', problem: fault.message }
  }
  if (use === 'look') {
    const { strays, ...runelog } = await openSqliteReadOnly(path, models)
    const discard = () => Promise.reject(new Error('This store is open for reading only.'))
    // No other process writes while the store is open here, so every running run is abandoned.
    const prove: ExistingStore['prove'] = (asked, trusted) => proveInThreads(runelog, asked, { path, trusted })
    return { runelog, ...key, abandoned: () => runningRuns(runelog), prove, damages, strays, discard }
  }
  const { erase: eraseBlobs, leftovers: leftBlobs } = fileBlobs(`${path}.blobs`)
  const options = { models, eraseBlobs, leftBlobs }
  const { strays, ...runelog } = await openSqliteRunelog(path, { ...hostPorts, ...key }, options)
  const redact = withoutTrace(runelog, `${path}.cache`, key.signer)
  const abandoned = () => runningRuns(runelog)
  const prove: ExistingStore['prove'] = (asked, trusted) => proveHere(runelog, asked, trusted)
  const discard: ExistingStore['discard'] = ({ file }) => rm(file)
  return { runelog: { ...runelog, redact }, ...key, abandoned, prove, damages, strays, discard }
}

/** Removes the session from the fold cache before the redaction, since this process may be killed in between. */
function withoutTrace({ redact }: Runelog, cache: string, signer: ExistingStore['signer']): Runelog['redact'] {
  return async (session_id, ...asked) => {
    if (existsSync(cache)) {
      const foldCache = openFoldCache(cache, signer)
      foldCache.forget(session_id)
      foldCache.close()
    }
    await redact(session_id, ...asked)
  }
}

async function existingPostgres(url: string): Promise<ExistingStore> {
  const segments = segmentsFolder()
  const key = keyOf(url)
  const { damages, ...runelog } = await openPostgresRunelog(url, { ...hostPorts, ...key }, { segments, models })
  const abandoned = () => abandonedRuns(url)
  const prove: ExistingStore['prove'] = (asked, trusted) => proveHere(runelog, asked, trusted)
  return { runelog, ...key, abandoned, prove, damages, strays: null, discard: async () => {} }
}

/** Copies a SQLite store. Leaves out a key file that does not hold the key of the store. */
export async function backUp(url: string, folder: string): Promise<BackedUp> {
  const place = parseStoreUrl(url)
  const problem = 'only a SQLite file is copied here; use pg_dump for PostgreSQL.'
  if (place.kind !== 'sqlite') throw faults.store_unusable({ store: shownStore(url), problem })
  refuseMissing(url)
  const fault = keyFault(url)
  const copy = copyStore(place.path, folder, fault === undefined ? keyFileOf(url) : undefined)
  return { store: `sqlite:${copy}`, key_problem: fault?.message ?? null }
}

/** Refuses a SQLite file that does not exist: opening it would make it. */
export function refuseMissing(url: string): void {
  const place = parseStoreUrl(url)
  if (place.kind === 'sqlite') refuseAbsent(place.path, url)
}
