/** The limits of a server whose config names none. */
export const usualLimits = {
  /** The bytes of a body. */
  bodyBytes: 1_000_000,
  /** The bytes of all headers. */
  headerBytes: 16_384,
  /** How deep objects and arrays in a body may be nested. */
  jsonDepth: 64,
  /** The fields and items of a body, counted together. */
  jsonKeys: 10_000,
  /** The characters of one text in a body. */
  jsonString: 262_144,
  /** How long the headers may take to arrive. */
  headersMs: 10_000,
  /** How long the whole request may take to arrive. */
  requestMs: 30_000,
  /** How long an idle connection stays open. */
  keepAliveMs: 5_000,
  /** How many connections may be open. */
  connections: 15_000,
  /** How many requests of one token are carried out at once. */
  requestsPerToken: 32,
  /** How many more requests of one token wait in line. */
  queuedPerToken: 10_000,
  /** How many requests a client may send on one connection before it has the answers. The rest is not read yet. */
  pipelined: 64,
  /** How many streams may be open. */
  streams: 12_000,
  /** How many streams one token may have open. */
  streamsPerToken: 12_000,
  /** How many bytes may wait for one reader of a stream. A reader that lags further is cut off. */
  streamBytes: 262_144,
  /** How many bytes may wait for all readers together. */
  streamsBytes: 33_554_432,
  /** An answer with more bytes than this must be read within `answerMs`. */
  answerBytes: 65_536,
  /** How many bytes of such answers may be on their way together. */
  answersBytes: 67_108_864,
  /** How long a client may read nothing of such an answer before it is cut off. */
  answerMs: 30_000,
  /** How many answers are kept for requests that are sent again. */
  keptAnswers: 50_000,
  /** How long such an answer is kept. */
  keptAnswersMs: 24 * 3_600_000,
}

/** The limits of a server. A request over a limit is refused with a fault that names the limit. */
export type Limits = Readonly<typeof usualLimits>
