import type { Settings } from '../runtime/engine/engine.ts'
import { usual_lease_ms } from './open-store.ts'

/** How a process works unless it is told otherwise. */
export const usualSettings: Settings = {
  worker: 'worker',
  lease_ms: usual_lease_ms,
  reply_timeout_ms: 15 * 60_000,
  cancel_grace_ms: 5_000,
  late_worker_ms: null,
  requeue_limit: 5,
  error_threshold: 5,
  max_delegation_depth: 8,
  max_open_delegations: 32,
  max_delegations: 256,
}
