import type { Json } from '../kernel/json.ts'
import type { Settings } from '../runtime/engine.ts'
import { type Warn, warnOnStderr } from './warnings.ts'

/** The config file that commands read unless another is named. */
export const defaultConfigFile = './statewright.config.ts'

/** The store that commands use where neither they nor the environment nor a config name one. */
export const defaultStore = 'sqlite:./statewright.db'

/** The port of a server. If it is taken and no port was named, the server takes any free one. */
export const defaultPort = 4400

/** The policy of plans and goals: ask people, change nothing destructive. */
export const defaultPlanPolicy: Json = { schema_version: '1.0.0', mode: 'interactive' }

/** How a worker works unless its config says otherwise. */
export const defaultSettings: Settings = {
  worker: 'worker',
  lease_ms: 5_000,
  reply_timeout_ms: 15 * 60_000,
  cancel_grace_ms: 5_000,
  late_worker_ms: null,
  requeue_limit: 5,
  error_threshold: 5,
  max_delegation_depth: 8,
  max_open_delegations: 32,
  max_delegations: 256,
}

interface Tuned {
  readonly settings?: Partial<Settings> | undefined
  readonly max_concurrent_runs?: number | undefined
  readonly warn?: Warn | undefined
}

/** Lease, parallel runs and warnings of a process, with the defaults for what its config leaves out. */
export function withDefaults({ settings = {}, max_concurrent_runs = 64, warn = warnOnStderr }: Tuned) {
  return { lease_ms: settings.lease_ms ?? defaultSettings.lease_ms, max_concurrent_runs, warn }
}
