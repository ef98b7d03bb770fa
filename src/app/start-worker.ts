import { watchStrayRejections } from '../adapters/host/crashes.ts'
import { Fault } from '../faults/fault.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Redactor } from '../runelog/redactor.ts'
import { culpritNow } from '../runtime/scopes.ts'
import { stacksOf } from '../runtime/thrown.ts'
import type { Where, Working, WorkingIo } from '../surface/wiring.ts'
import { withDefaults } from './defaults.ts'
import { type Config, configAt } from './load-config.ts'
import { closeStore, openStore, type Store } from './open-store.ts'
import { createStatewright } from './statewright.ts'
import { cleaning, knownSecrets, type LogLevel, type Warn, workingLog, workingWarn } from './warnings.ts'

/** Starts a worker as a config file describes it. */
export async function startWorker(where: Pick<Where, 'store' | 'config'>, io: WorkingIo): Promise<Working> {
  const config = await configAt(where)
  return (await startWorking(config, io, { secrets: knownSecrets(config), usualLevel: 'info' })).working
}

type HowToWork = { readonly secrets: Readonly<Record<string, string>>; readonly usualLevel: LogLevel }

/** Opens the store of a config and begins to work. `working.stop` closes all of it. */
export async function startWorking(config: Config, io: WorkingIo, { secrets, usualLevel }: HowToWork) {
  const { leaseMs, maxConcurrentRuns } = withDefaults(config)
  const broken = Promise.withResolvers<Fault>()
  const warn = workingWarn(config.warn, io, broken.promise)
  const log = workingLog(config.log, io, broken.promise, usualLevel)
  const store = await openStore(config.store, { secrets, leaseMs, warn, broken: broken.resolve })
  try {
    const announced: Store = { ...store, runelog: announcing(store.runelog, io) }
    const sw = await createStatewright({ ...config, warn, log, store: announced })
    const stopReporting = reportStrays(warn, store.redactor)
    const working: Working = {
      agents: Object.keys(config.agents),
      max_concurrent_runs: maxConcurrentRuns,
      is_shared: !store.isExclusive,
      broken: broken.promise,
      async stop() {
        await sw.close()
        await closeStore(store)
        stopReporting()
      },
    }
    return { sw, store, warn, working }
  } catch (error) {
    await closeStore(store)
    throw error
  }
}

/** Warns of rejected promises that a tool left behind, instead of ending the process. Returns the way to stop. */
function reportStrays(warn: Warn, redactor: Redactor): () => void {
  const report = cleaning({}, redactor).cleanWarn(warn)
  return watchStrayRejections((reason) =>
    report('a promise was rejected that no code waits for; perhaps a tool left it behind', {
      ...culpritNow()?.about,
      error: stacksOf(reason, redactor.redact),
    }),
  )
}

function announcing(runelog: Runelog, { onRune }: WorkingIo): Runelog {
  return {
    ...runelog,
    async append(batch) {
      const runes = await runelog.append(batch)
      if (!(runes instanceof Fault)) for (const rune of runes) onRune(rune)
      return runes
    },
  }
}
