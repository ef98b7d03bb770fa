/** What a server puts up with that sets no limits. Each limit has a fault of its own that says so. */
export const usualLimits = {
  bodyBytes: 1_000_000,
  headerBytes: 16_384,
  /** How deep objects and arrays may stand in each other. */
  jsonDepth: 64,
  jsonKeys: 10_000,
  jsonString: 262_144,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,
  connections: 15_000,
  /** How many requests of one token are carried out at once, and how many more wait in line. */
  requestsPerToken: 32,
  queuedPerToken: 10_000,
  /** How many requests a client may send on one connection before it has the answers. The rest is not read yet. */
  pipelined: 64,
  streams: 12_000,
  streamsPerToken: 12_000,
  /** How many bytes may wait for one reader of a stream, and for all together. */
  streamBytes: 262_144,
  streamsBytes: 33_554_432,
  /** An answer of more bytes has this long to be taken, and all such answers together have a limit. */
  answerBytes: 65_536,
  answersBytes: 67_108_864,
  answerMs: 30_000,
  /** How many answers are kept for requests that are sent again. */
  keptAnswers: 50_000,
  keptAnswersMs: 24 * 3_600_000,
}

/** The limits of a server. */
export type Limits = Readonly<typeof usualLimits>
