/**
 * How much of one answer is taken from a model. This is the only place that sets it. Arguments of calls and what a
 * provider wants back are bounded by `jsonLimits.arguments`.
 */
export const streamLimits = {
  /** Text and reasoning together. A control character counts as the six that JSON takes for it. */
  characters: 4_000_000,
  calls: 128,
  /** Of a tool, as the model wrote it. */
  name: 200,
  emotions: 100,
  /** Every event counts, also one that says nothing. */
  events: 1_000_000,
  /** What an answer may claim to have used, in and out. */
  tokens: 1_000_000_000,
} as const

/** After so many events or characters a stream lets others run: a model that never waits would hold the whole process. */
export const perBreath = { events: 32, characters: 65_536 } as const

/** Resolves after whatever else the process has to do right now. */
export const breathe = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
