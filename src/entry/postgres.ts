/** A PostgreSQL store that you open yourself. It needs the packages `pg` and `graphile-worker`. */
import './node-version.ts'
import * as z from 'zod'
import { shortestLeaseMs } from '../app/defaults.ts'
import { closeStore, type OpenStore, openStore } from '../app/open-store.ts'
import { faults } from '../faults/catalogue.ts'
import { shownStore } from '../kernel/printable.ts'
import { closedObject, fieldProblems, problemSentence } from '../runtime/shape-problems.ts'
import { sayValue } from '../runtime/thrown.ts'
import { parseStoreUrl } from '../surface/store-url.ts'

/** Options of `openPostgres`. */
export interface PostgresOptions {
  /** Values that never reach the database, by name. */
  readonly secrets?: Readonly<Record<string, string>>
  /** How long a worker keeps a run without renewing its lease. Every process of a store uses the same. */
  readonly leaseMs?: number
  /** Gets problems that fail no call. Default: one line on stderr. */
  readonly warn?: (message: string, details: object) => void
}

const postgresOptions = closedObject({
  secrets: z.record(z.string(), z.string()).optional(),
  leaseMs: z.int().min(shortestLeaseMs).optional(),
  warn: z.custom((given) => typeof given === 'function', 'It is not a function.').optional(),
})

/** A store on PostgreSQL, for `createStatewright({ store })`. */
export interface PostgresStore extends OpenStore {
  /** Closes every connection. Close each Statewright that uses the store first. */
  close(): Promise<void>
}

/** Opens the store and creates its tables if they are missing. Several Statewrights of a process may share it. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresStore> {
  const read = postgresOptions.safeParse(options)
  if (!read.success) {
    const problem = `${problemSentence(fieldProblems(read.error))}.`
    throw faults.bad_definition({ what: 'store', name: 'openPostgres', problem })
  }
  if (typeof url !== 'string' || parseStoreUrl(url).kind !== 'postgres')
    throw faults.store_unusable({
      store: typeof url === 'string' ? shownStore(url).slice(0, 200) : sayValue(url),
      problem: 'this is not a PostgreSQL URL. Use postgres://HOST/DATABASE.',
    })
  const store = await openStore(url, options)
  let closed: Promise<void> | undefined
  return {
    ...store,
    close() {
      closed ??= closeStore(store)
      return closed
    },
  }
}
