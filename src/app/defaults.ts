import type { Settings } from '../runtime/engine.ts'
import { type Warn, warnOnStderr } from './warnings.ts'

/** The store that commands use where neither they nor the environment nor a config name one. */
export const defaultStore = 'sqlite:./statewright.db'

/** A shorter lease would end between two renewals on a busy machine. */
export const shortestLeaseMs = 100

/** How a worker works unless its config says otherwise. */
export const defaultSettings: Settings = {
  worker: 'worker',
  leaseMs: 5_000,
  replyTimeoutMs: 15 * 60_000,
  cancelGraceMs: 5_000,
  lateWorkerMs: null,
  requeueLimit: 5,
  errorThreshold: 5,
  maxDelegationDepth: 8,
  maxOpenDelegations: 32,
  maxDelegations: 256,
}

interface Tuned {
  readonly settings?: Partial<Settings> | undefined
  readonly maxConcurrentRuns?: number | undefined
  readonly warn?: Warn | undefined
}

/** Lease, parallel runs and warnings of a process, with the defaults for what its config leaves out. */
export function withDefaults({ settings = {}, maxConcurrentRuns = 64, warn = warnOnStderr }: Tuned) {
  return { leaseMs: settings.leaseMs ?? defaultSettings.leaseMs, maxConcurrentRuns, warn }
}
