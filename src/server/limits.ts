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
  /** How many requests of one token are carried out at once, and how many more wait in line. */
  readonly requests_per_token: number
  readonly queued_per_token: number
  /** How many requests a client may send on one connection before it has the answers. The rest is not read yet. */
  readonly pipelined: number
  readonly streams: number
  readonly streams_per_token: number
  /** How many bytes may wait for one reader of a stream, and for all together. */
  readonly stream_bytes: number
  readonly streams_bytes: number
  /** An answer of more bytes has this long to be taken, and all such answers together have a limit. */
  readonly answer_bytes: number
  readonly answers_bytes: number
  readonly answer_ms: number
  /** How many answers are kept for requests that are sent again. */
  readonly kept_answers: number
  readonly kept_answers_ms: number
}

/** The limits of a server that sets none. */
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
  requests_per_token: 32,
  queued_per_token: 10_000,
  pipelined: 64,
  streams: 12_000,
  streams_per_token: 12_000,
  stream_bytes: 262_144,
  streams_bytes: 33_554_432,
  answer_bytes: 65_536,
  answers_bytes: 67_108_864,
  answer_ms: 30_000,
  kept_answers: 50_000,
  kept_answers_ms: 24 * 3_600_000,
}
