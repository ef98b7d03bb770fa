import type { Asked } from './operation.ts'

/** A key counts for whoever sent it and for what he asked: two who choose the same one do not meet. */
export function requestKey(operation: string, { by, idempotency_key }: Asked<unknown, unknown, unknown>) {
  return idempotency_key === null ? undefined : `${operation} ${by} ${idempotency_key}`
}
