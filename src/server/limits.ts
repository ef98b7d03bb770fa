/** What the server puts up with. Each limit has a fault of its own that says so. */
export interface Limits {
  readonly bodyBytes: number
  readonly headerBytes: number
  /** How deep objects and arrays may stand in each other. */
  readonly jsonDepth: number
  readonly jsonKeys: number
  readonly jsonString: number
  readonly headersMs: number
  readonly requestMs: number
  readonly keepAliveMs: number
  readonly connections: number
  /** How many requests of one token are carried out at once, and how many more wait in line. */
  readonly requestsPerToken: number
  readonly queuedPerToken: number
  /** How many requests a client may send on one connection before it has the answers. The rest is not read yet. */
  readonly pipelined: number
  readonly streams: number
  readonly streamsPerToken: number
  /** How many bytes may wait for one reader of a stream, and for all together. */
  readonly streamBytes: number
  readonly streamsBytes: number
  /** An answer of more bytes has this long to be taken, and all such answers together have a limit. */
  readonly answerBytes: number
  readonly answersBytes: number
  readonly answerMs: number
  /** How many answers are kept for requests that are sent again. */
  readonly keptAnswers: number
  readonly keptAnswersMs: number
}

/** The limits of a server that sets none. */
export const usualLimits: Limits = {
  bodyBytes: 1_000_000,
  headerBytes: 16_384,
  jsonDepth: 64,
  jsonKeys: 10_000,
  jsonString: 262_144,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,
  connections: 15_000,
  requestsPerToken: 32,
  queuedPerToken: 10_000,
  pipelined: 64,
  streams: 12_000,
  streamsPerToken: 12_000,
  streamBytes: 262_144,
  streamsBytes: 33_554_432,
  answerBytes: 65_536,
  answersBytes: 67_108_864,
  answerMs: 30_000,
  keptAnswers: 50_000,
  keptAnswersMs: 24 * 3_600_000,
}
