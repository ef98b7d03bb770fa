import { hostPorts } from './adapters/host/ports.ts'
import type { Working, WorkingIo } from './cli/command.ts'
import { Fault } from './faults/fault.ts'
import { printableJson } from './kernel/printable.ts'
import { knownSecrets } from './known-secrets.ts'
import { loadConfig } from './load-config.ts'
import { closeStore, openStore, usual_lease_ms } from './open-store.ts'
import type { Runelog } from './runelog/port.ts'
import { createStatewright } from './statewright.ts'

/** A worker as a config file describes it. Wiring, like `main`: nothing in a room imports this. */
export async function startWorker(file: string | undefined, io: WorkingIo): Promise<Working> {
  const config = await loadConfig(file)
  const { settings: { lease_ms = usual_lease_ms } = {}, max_concurrent_runs = 64 } = config
  const warn = config.warn ?? ((message, details) => io.warn(`${message}: ${printableJson(details)}`))
  const broken = Promise.withResolvers<Fault>()
  const store = await openStore(config.store, hostPorts, knownSecrets(config), { lease_ms, warn })
  try {
    const runelog = telling(store.runelog, io, broken.resolve)
    const sw = await createStatewright({ ...config, warn, store: { ...store, runelog } })
    return {
      agents: Object.keys(config.agents),
      max_concurrent_runs,
      is_shared: !store.isExclusive,
      broken: broken.promise,
      async stop() {
        await sw.close()
        await closeStore(store)
      },
    }
  } catch (error) {
    await closeStore(store)
    throw error
  }
}

/** Tells of what this process records, and of the moment from which it can record nothing more. */
export function telling(runelog: Runelog, { tell }: WorkingIo, broken: (fault: Fault) => void): Runelog {
  return {
    ...runelog,
    async append(batch) {
      try {
        const runes = await runelog.append(batch)
        for (const rune of runes) tell(rune)
        return runes
      } catch (error) {
        if (error instanceof Fault && error.code === 'store_poisoned') broken(error)
        throw error
      }
    },
  }
}
