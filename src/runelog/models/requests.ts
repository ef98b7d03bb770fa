import { faults } from '../../faults/catalogue.ts'
import type { ReadModel } from '../read-model.ts'

/** Where a request with an idempotency key took effect. */
export type RecordedRequest = {
  readonly session_id: string
  /** The first rune that it brought about. */
  readonly event_id: number
  /** What was asked, as a digest: the same key with another content is refused. */
  readonly fingerprint: string
}

/** The name of a request: who asked for what under which key, and what exactly. Both parts are digests. */
export function requestId(key_sha256: string, body_sha256: string): string {
  return `req_${key_sha256.slice(0, 40)}.${body_sha256.slice(0, 40)}`
}

/** The part of the name that is the same for every request with that key. */
export function requestKeyOf(request_id: string): string {
  return request_id.split('.', 1)[0] ?? request_id
}

export function fingerprintOf(request_id: string): string {
  return request_id.slice(requestKeyOf(request_id).length + 1)
}

/**
 * Requests with an idempotency key that took effect. The key is in the header of the first rune, so it is recorded with
 * the effect or not at all, and a second append with the same key is refused, from every client.
 */
export const requests: ReadModel<RecordedRequest> = {
  name: 'requests',
  version: 1,
  shared: true,
  keys: ({ request_id }) => (request_id === undefined ? [] : [requestKeyOf(request_id)]),
  fold(row, { request_id = '', session_id, event_id }, key) {
    if (row !== undefined) return faults.request_recorded({ request_id })
    const value: RecordedRequest = { session_id, event_id, fingerprint: fingerprintOf(request_id) }
    return { key, tag: null, sort: null, value }
  },
}
