import { isFault } from '../faults/catalogue.ts'
import type { Client } from '../surface/client.ts'
import type { ExistingStore } from '../surface/wiring.ts'
import type { Arguments, Option } from './command.ts'
import type { Host } from './host.ts'
import { whereOptions, withClient } from './with-client.ts'
import { storeOption, withStore } from './with-store.ts'

export const hereOrThereOptions: Readonly<Record<'store' | 'server', Option>> = {
  ...storeOption,
  server: whereOptions.server,
}

/** On the store itself; through a server if one is named, or holds the store and can be asked. */
export async function hereOrThere<T>(
  host: Host,
  args: Arguments,
  ways: {
    readonly use: 'look' | 'change'
    readonly here: (store: ExistingStore) => Promise<T>
    readonly there: (client: Client) => Promise<T>
  },
): Promise<T> {
  const { use, here, there } = ways
  if (args.values.server !== undefined) return withClient(host, args, there)
  try {
    return await withStore(host, args, use, here)
  } catch (error) {
    if (!isHeld(error)) throw error
    return withClient(host, args, there)
  }
}

/** Someone holds the store who can be asked. */
export function isHeld(error: unknown): boolean {
  if (!isFault(error, 'store_locked')) return false
  return error.details.address != null
}
