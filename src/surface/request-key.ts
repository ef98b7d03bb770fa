import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Asked } from './operation.ts'

/** A key counts for its sender and for the operation: two senders who choose the same key do not meet. */
export function requestKey(operation: string, { by, idempotency_key }: Asked<unknown, unknown, unknown>) {
  return idempotency_key === null ? undefined : canonicalJson([operation, by, idempotency_key])
}
