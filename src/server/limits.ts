/** What the server puts up with. Each limit has a fault of its own that says so. */
export interface Limits {
  readonly body_bytes: number
  readonly header_bytes: number
  /** How deep objects and arrays may stand in each other. */
  readonly json_depth: number
  readonly json_keys: number
  readonly json_string: number
  readonly headers_ms: number
  readonly request_ms: number
  readonly keep_alive_ms: number
  readonly connections: number
  /** How many answers are kept for requests that are sent again. */
  readonly kept_answers: number
  readonly kept_answers_ms: number
}

export const usualLimits: Limits = {
  body_bytes: 1_000_000,
  header_bytes: 16_384,
  json_depth: 64,
  json_keys: 10_000,
  json_string: 262_144,
  headers_ms: 10_000,
  request_ms: 30_000,
  keep_alive_ms: 5_000,
  connections: 15_000,
  kept_answers: 50_000,
  kept_answers_ms: 24 * 3_600_000,
}
