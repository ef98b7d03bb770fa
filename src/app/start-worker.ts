import { hearStrayRejections } from '../adapters/host/crashes.ts'
import { Fault } from '../faults/fault.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Redactor } from '../runelog/redactor.ts'
import { culpritNow } from '../runtime/scopes.ts'
import { stacksOf } from '../runtime/thrown.ts'
import type { Where, Working, WorkingIo } from '../surface/wiring.ts'
import { withDefaults } from './defaults.ts'
import { cleaning, knownSecrets } from './known-secrets.ts'
import { configAt } from './load-config.ts'
import { closeStore, openStore } from './open-store.ts'
import { createStatewright } from './statewright.ts'
import { type Warn, workingLog, workingWarn } from './warnings.ts'

/** Starts a worker as a config file describes it. */
export async function startWorker(where: Pick<Where, 'store' | 'config'>, io: WorkingIo): Promise<Working> {
  const config = await configAt(where)
  const { leaseMs, maxConcurrentRuns } = withDefaults(config)
  const broken = Promise.withResolvers<Fault>()
  const warn = workingWarn(config.warn, io, broken.promise)
  const log = workingLog(config, io, broken.promise)
  const secrets = knownSecrets(config)
  const store = await openStore(config.store, { secrets, leaseMs, warn, broken: broken.resolve })
  try {
    const runelog = announcing(store.runelog, io)
    const sw = await createStatewright({ ...config, warn, log, store: { ...store, runelog } })
    const stopHearing = hearStrays(warn, store.redactor)
    return {
      agents: Object.keys(config.agents),
      max_concurrent_runs: maxConcurrentRuns,
      is_shared: !store.isExclusive,
      broken: broken.promise,
      async stop() {
        await sw.close()
        await closeStore(store)
        stopHearing()
      },
    }
  } catch (error) {
    await closeStore(store)
    throw error
  }
}

/** Warns of rejected promises that a tool left behind, instead of ending the process. Returns the way to stop. */
export function hearStrays(warn: Warn, redactor: Redactor): () => void {
  const report = cleaning({}, redactor).cleanWarn(warn)
  return hearStrayRejections((reason) =>
    report('a promise was rejected that no code waits for; perhaps a tool left it behind', {
      ...culpritNow()?.about,
      error: stacksOf(reason, redactor.redact),
    }),
  )
}

/** A runelog that reports each rune that it records. */
export function announcing(runelog: Runelog, { onRune }: WorkingIo): Runelog {
  return {
    ...runelog,
    async append(batch) {
      const runes = await runelog.append(batch)
      if (!(runes instanceof Fault)) for (const rune of runes) onRune(rune)
      return runes
    },
  }
}
