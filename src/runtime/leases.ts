/**
 * Who holds which run, and until when. A lease alone proves nothing: the epoch in every append decides. It only says
 * when to stop trying, and when someone else may begin.
 */
export interface Leases {
  /** Asked right before a run is taken: the moment from which its lease counts. */
  instant(): Instant
  /**
   * Begins to hold a run under an epoch; the lease is kept alive until it is released. `since` is from before the run
   * was taken: a process that slept meanwhile must not believe that it has all the time left.
   */
  hold(run_id: string, epoch: number, since: Instant): Lease
}

/** A moment by both clocks of the process that keeps the leases. */
export interface Instant {
  readonly monotonic: number
  readonly now: number
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
  return {
    instant: () => ({ monotonic: 0, now: 0 }),
    // A signal each, though none ever fires: its listeners are forgotten together with the run.
    hold: () => ({ signal: new AbortController().signal, isValid: () => true, release: () => {} }),
  }
}
