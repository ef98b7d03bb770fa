export interface RetryPolicy {
  /** How often a stream is tried in all. */
  readonly tries: number
  readonly first_delay_ms: number
  /** Each wait is twice the one before, up to this. */
  readonly longest_delay_ms: number
}

export const usualRetries: RetryPolicy = { tries: 3, first_delay_ms: 1_000, longest_delay_ms: 30_000 }

/** A provider that asks for more patience than this is not waited for: the run fails and can be submitted again. */
const longestPatienceMs = 5 * 60_000

/**
 * How long to wait after the given failed try, the first being 1; undefined
 * when that was the last. A provider's own wish counts if it is longer.
 */
export function retryDelay(failed: number, policy: RetryPolicy, retry_after_ms = 0): number | undefined {
  if (failed >= policy.tries || retry_after_ms > longestPatienceMs) return undefined
  const doubled = policy.first_delay_ms * 2 ** (failed - 1)
  return Math.ceil(Math.max(Math.min(doubled, policy.longest_delay_ms), retry_after_ms))
}
