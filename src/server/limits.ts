/** The limits of a server. A request over a limit is refused with a fault that names the limit. */
export interface Limits {
  /** The bytes of a body. */
  readonly bodyBytes: number
  /** The bytes of all headers. */
  readonly headerBytes: number
  /** How deep objects and arrays in a body may be nested. */
  readonly jsonDepth: number
  /** The fields and items of a body, counted together. */
  readonly jsonKeys: number
  /** The characters of one text in a body. */
  readonly jsonString: number
  /** How long the headers may take to arrive. */
  readonly headersMs: number
  /** How long the whole request may take to arrive. */
  readonly requestMs: number
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number
  /** How many connections may be open. */
  readonly connections: number
  /** How many requests of one token are carried out at once. */
  readonly requestsPerToken: number
  /** How many more requests of one token wait in line. */
  readonly queuedPerToken: number
  /** How many requests a client may send on one connection before it has the answers. The rest is not read yet. */
  readonly pipelined: number
  /** How many streams may be open. */
  readonly streams: number
  /** How many streams one token may have open. */
  readonly streamsPerToken: number
  /** How many bytes may wait for one reader of a stream. A reader that lags further is cut off. */
  readonly streamBytes: number
  /** How many bytes may wait for all readers together. */
  readonly streamsBytes: number
  /** An answer with more bytes than this must be read within `answerMs`. */
  readonly answerBytes: number
  /** How many bytes of such answers may be on their way together. */
  readonly answersBytes: number
  /** How long a client may read nothing of such an answer before it is cut off. */
  readonly answerMs: number
  /** How many answers are kept for requests that are sent again. */
  readonly keptAnswers: number
  /** How long such an answer is kept. */
  readonly keptAnswersMs: number
}

/** The limits of a server whose config names none. */
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
