import { hostPorts } from '../adapters/host/ports.ts'
import { hearStrayRejections } from '../adapters/host/stray-rejections.ts'
import type { Where, Working, WorkingIo } from '../cli/command.ts'
import type { Fault } from '../faults/fault.ts'
import { printableJson } from '../kernel/printable.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Redactor } from '../runelog/redactor.ts'
import type { Log } from '../runtime/ports.ts'
import { stacksOf } from '../runtime/thrown.ts'
import { culpritNow } from '../runtime/tools/culprit.ts'
import { cleaning, knownSecrets } from './known-secrets.ts'
import { limitedWarn, type Warn } from './limited-warn.ts'
import type { Config } from './load-config.ts'
import { atLevel, type LogLevel, logLevel } from './log-level.ts'
import { closeStore, openStore, usual_lease_ms } from './open-store.ts'
import { createStatewright } from './statewright.ts'
import { configAt } from './where.ts'

/** A worker as a config file describes it. Wiring, like `main`: nothing in a room imports this. */
export async function startWorker(where: Pick<Where, 'store' | 'config'>, io: WorkingIo): Promise<Working> {
  const config = await configAt(where)
  const { settings: { lease_ms = usual_lease_ms } = {}, max_concurrent_runs = 64 } = config
  const broken = Promise.withResolvers<Fault>()
  const warn = workingWarn(config.warn, io, broken.promise)
  const log = workingLog(config, io, broken.promise)
  const store = await openStore(config.store, hostPorts, knownSecrets(config), {
    lease_ms,
    warn,
    broken: broken.resolve,
  })
  try {
    const runelog = telling(store.runelog, io)
    const sw = await createStatewright({ ...config, warn, log, store: { ...store, runelog } })
    const unhear = hearStrays(warn, store.redactor)
    return {
      agents: Object.keys(config.agents),
      max_concurrent_runs,
      is_shared: !store.isExclusive,
      broken: broken.promise,
      async stop() {
        await sw.close()
        await closeStore(store)
        unhear()
      },
    }
  } catch (error) {
    await closeStore(store)
    throw error
  }
}

/** Warnings of a process that works: a few of each kind, and none once its store is broken, which it says itself. */
export function workingWarn(given: Warn | undefined, io: WorkingIo, broken: Promise<Fault>): Warn {
  let isBroken = false
  void broken.then(() => {
    isBroken = true
  })
  const warn = limitedWarn(
    given ?? ((message, details) => io.warn(`${message}: ${printableJson(details)}`)),
    hostPorts.now,
  )
  return (message, details) => (isBroken ? undefined : warn(message, details))
}

/** What goes on in a process that works: what failed, a few of each kind, and each step if that is asked for. */
export function workingLog({ log }: Config, io: WorkingIo, broken: Promise<Fault>, usual: LogLevel = 'info'): Log {
  if (log !== undefined) return { info: () => {}, debug: () => {}, ...log }
  const debug: Warn = (message, details) => io.warn(`${message}: ${printableJson(details)}`)
  return atLevel(logLevel(usual), { info: workingWarn(undefined, io, broken), debug })
}

/** A tool may leave a promise behind that is rejected later. That is told, and ends no work of others. */
export function hearStrays(warn: Warn, redactor: Redactor): () => void {
  const tell = cleaning({}, redactor).cleanWarn(warn)
  return hearStrayRejections((reason) =>
    tell('a promise was rejected that no code waits for; perhaps a tool left it behind', {
      ...culpritNow()?.about,
      error: stacksOf(reason, redactor.redact),
    }),
  )
}

/** Tells of what this process records. */
export function telling(runelog: Runelog, { tell }: WorkingIo): Runelog {
  return {
    ...runelog,
    async append(batch) {
      const runes = await runelog.append(batch)
      for (const rune of runes) tell(rune)
      return runes
    },
  }
}
