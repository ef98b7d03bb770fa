import type { Store } from '../../src/app/open-store.ts'

/** The same store with other parts. A Statewright takes an open store as it is and shows no part of it. */
export const storeWith = (store: Store, parts: Partial<Store>): Store => ({ ...store, ...parts })
