/**
 * A PostgreSQL store that you open yourself. `createStatewright({ store: 'postgres://…' })` opens one by its URL. Both
 * need the packages `pg` and `graphile-worker`.
 */
import './node-version.ts'
import { closeStore, openStore, type Store } from '../app/open-store.ts'
import { faults } from '../faults/catalogue.ts'
import { parseStoreUrl } from '../surface/store-url.ts'

/** Options of `openPostgres`. */
export interface PostgresOptions {
  /** Values that never reach the database, by name. */
  readonly secrets?: Readonly<Record<string, string>>
  /** How long a worker keeps a run without renewing its lease. Every process of a store uses the same. */
  readonly leaseMs?: number
  /** Gets what goes wrong beside the work. Default: one line on stderr. */
  readonly warn?: (message: string, details: object) => void
}

/** A store on PostgreSQL, for `createStatewright({ store })`. */
export interface PostgresStore extends Store {
  /** Closes every connection. Close each Statewright that uses the store first. */
  close(): Promise<void>
}

/** Opens the store and creates its tables if they are missing. Several Statewrights of a process may share it. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresStore> {
  if (parseStoreUrl(url).kind !== 'postgres')
    throw faults.store_unusable({ store: url, problem: 'it is no PostgreSQL store. Use postgres://HOST/DATABASE.' })
  const store = await openStore(url, options)
  return { ...store, close: () => closeStore(store) }
}
