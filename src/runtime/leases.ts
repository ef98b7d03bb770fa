/**
 * Who holds which run, and until when. A lease alone proves nothing: the epoch
 * in every append decides. It only says when to stop trying, and when someone
 * else may begin.
 */
export interface Leases {
  /**
   * Begins to hold a run under an epoch; the lease is kept alive until it is
   * released. `took_ms` is how long taking it took, by the monotonic clock: a
   * process that slept meanwhile must not believe that it has all the time left.
   */
  hold(run_id: string, epoch: number, took_ms: number): Lease
}

export interface Lease {
  /** Fires when the lease could not be kept. Nothing may be begun after that. */
  readonly signal: AbortSignal
  /** By the monotonic clock, right before an effect. */
  isValid(): boolean
  release(): void
}

/**
 * One process owns the store: it holds what it holds for as long as it lives,
 * and when it dies the next one knows that all leases died with it.
 */
export function leasesOfOneProcess(): Leases {
  const never = new AbortController().signal
  return { hold: () => ({ signal: never, isValid: () => true, release: () => {} }) }
}
