import { fileBlobs } from '../adapters/files/blobs.ts'
import { openCheckpoints } from '../adapters/sqlite/checkpoints.ts'
import { openSqliteRunelog } from '../adapters/sqlite/runelog.ts'
import { systemClock } from '../adapters/system/clock.ts'
import { systemTimers } from '../adapters/system/timers.ts'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { coordinations } from '../autonomy/plans/coordinations.ts'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { openMemoryRunelog } from '../runelog/memory.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Ports, RunelogOptions } from '../runelog/ports.ts'
import { createRedactor, type Redactor } from '../runelog/redactor.ts'
import { type Blobs, memoryBlobs } from '../runtime/blobs.ts'
import { type Checkpoints, noCheckpoints } from '../runtime/checkpoints.ts'
import { budgets } from '../runtime/models/budgets.ts'
import { delegated } from '../runtime/models/delegated.ts'
import { openInteractions } from '../runtime/models/interactions.ts'
import { listings } from '../runtime/models/listings.ts'
import { outputs } from '../runtime/models/outputs.ts'
import { search } from '../runtime/models/search.ts'
import { summaries } from '../runtime/models/summaries.ts'
import { waitingRuns } from '../runtime/models/waiting-runs.ts'
import type { SharedStore } from '../runtime/shared-store.ts'
import { cleaning } from './known-secrets.ts'
import { signerOf } from './store-key.ts'
import { warnOnStderr } from './warn-on-stderr.ts'

export interface Store {
  readonly runelog: Runelog
  readonly blobs: Blobs
  readonly checkpoints: Checkpoints
  readonly redactor: Redactor
  /** Nobody else writes to it while it is open here. */
  readonly isExclusive: boolean
  /** Publishes where this process can be asked, for whoever finds the store taken. */
  readonly announce?: (address: string) => void
  /** What several processes need to work on it together. */
  readonly shared?: SharedStore
  /** Lets go of what the store claims beside its log. */
  readonly release?: () => void
}

/** How a process takes part in a store that it does not own. */
export interface Sharing {
  readonly lease_ms: number
  readonly warn: (message: string, details: object) => void
  /** Hears once that the store takes nothing more. */
  readonly broken?: (fault: Fault) => void
}

/** The read models that the runtime adds to the log's own. Every process on a store opens it with these. */
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

export const usual_lease_ms = 5_000

const usualSharing: Sharing = {
  lease_ms: usual_lease_ms,
  warn: warnOnStderr,
}

/** Opens the store that a URL names. Secrets are taken out of everything before it is written. */
export async function openStore(
  url: string,
  given: Ports,
  secrets: Readonly<Record<string, string>> = {},
  sharing: Sharing = usualSharing,
): Promise<Store> {
  const ports = { ...given, signer: signerOf(url) }
  const redactor = createRedactor({ secrets: new Map(Object.entries(secrets)) })
  const warn = cleaning(secrets, redactor).cleanWarn(sharing.warn)
  const { broken } = sharing
  const options: RunelogOptions = { models, redactor, ...(broken === undefined ? {} : { broken }) }
  if (url === 'memory:') {
    const blobs = withoutSecrets(memoryBlobs(ports.sha256), redactor)
    return {
      runelog: openMemoryRunelog(ports, { ...options, eraseBlobs: blobs.erase }),
      blobs,
      checkpoints: noCheckpoints,
      redactor,
      isExclusive: true,
    }
  }
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    const blobs = withoutSecrets(fileBlobs(`${path}.blobs`), redactor)
    const runelog = await openSqliteRunelog(path, ports, { ...options, eraseBlobs: blobs.erase })
    try {
      const release = claimOwnFile(path)
      const checkpoints = openCheckpoints(`${path}.cache`, ports.signer)
      return { runelog, blobs, checkpoints, redactor, isExclusive: true, announce: runelog.announce, release }
    } catch (error) {
      await runelog.close()
      throw error
    }
  }
  if (url.startsWith('postgres://') || url.startsWith('postgresql://')) {
    // Only who uses PostgreSQL pays for loading its client.
    const { openPostgresStore } = await import('../adapters/postgres/shared-store.ts')
    // A lease lasts as long as it lasts: no test moves this time by hand.
    const time = { clock: systemClock, timers: systemTimers }
    const kept = { ...options, segments: segmentsFolder() }
    const { blobs, ...store } = await openPostgresStore(url, ports, kept, { ...sharing, warn, ...time })
    return {
      ...store,
      blobs: withoutSecrets(blobs, redactor),
      checkpoints: noCheckpoints,
      redactor,
      isExclusive: false,
      release: claimOwnFile(segmentsFolder()),
    }
  }
  throw faults.bad_usage({
    problem: `The store "${url}" is of no kind we know.`,
    usage: 'sqlite:./file.db, postgres://… or memory:',
  })
}

/** Where the archived sessions of a PostgreSQL store are. Every process of the store must see the same folder. */
export function segmentsFolder(): string {
  return process.env.STATEWRIGHT_SEGMENTS ?? './statewright.segments'
}

export async function closeStore({ runelog, checkpoints, shared, release }: Store): Promise<void> {
  release?.()
  checkpoints.close()
  await shared?.close()
  await runelog.close()
}

function withoutSecrets(blobs: Blobs, redactor: Redactor): Blobs {
  return { ...blobs, keep: async (text) => blobs.keep(await redactor.redactLong(text)) }
}
