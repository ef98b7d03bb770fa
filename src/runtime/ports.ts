/** Time, waiting and ids are ports, so that tests control them. */
export interface Clock {
  /** Milliseconds since 1970, UTC. May jump when someone sets the clock. */
  now(): number
  /** Milliseconds since some moment. Never goes back: durations and leases are measured with it. */
  monotonic(): number
}

/** Calls functions later. */
export interface Timers {
  /** Calls `fn` once, not before `ms` have passed. Calling what it returns prevents that; calling it late does nothing. */
  after(ms: number, fn: () => void): Cancel
}

/** A log for debugging. It has names and ids, never texts, arguments or results. */
export interface Log {
  /** Code of the developer failed, with its stack. */
  info(message: string, details: object): void
  /** Each step: a run is taken, a tool is called, a model answers. */
  debug(message: string, details: object): void
}

/** Prevents a call that has not happened yet. */
export type Cancel = () => void

/** Makes new ids. */
export interface Ids {
  /** A new id: `next('exe')` gives `exe_` and 16 hex digits. */
  next(prefix: string): string
}

/** A number from 0 to 1, for values that need not be unpredictable. */
export type Random = () => number

/** Resolves after `ms`, or as soon as one of the signals fires. */
export function wait(timers: Timers, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = timers.after(ms, resolve)
  for (const signal of signals) {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  }
  return promise.finally(cancel)
}
