import type { Random } from '../ports.ts'

export interface RetryPolicy {
  /** How often a stream is tried in all. */
  readonly tries: number
  readonly firstDelayMs: number
  /** Each wait is twice the one before, up to this. */
  readonly longestDelayMs: number
}

export const usualRetries: RetryPolicy = { tries: 3, firstDelayMs: 1_000, longestDelayMs: 30_000 }

/** A provider that asks for more patience than this is not waited for: the run fails and can be submitted again. */
const longestPatienceMs = 5 * 60_000

/**
 * How long to wait after the given failed try, the first being 1; undefined when that was the last. A provider's own
 * wish counts if it is longer. Between half and all of the wait is taken at random, and what is added to a wish is less
 * than the first wait: clients that failed together do not come back together.
 */
export function retryDelay(
  failed: number,
  policy: RetryPolicy,
  { random, retry_after_ms = 0 }: { readonly random: Random; readonly retry_after_ms?: number | undefined },
): number | undefined {
  if (failed >= policy.tries || retry_after_ms > longestPatienceMs) return undefined
  const { firstDelayMs, longestDelayMs } = policy
  const part = Math.min(1, Math.max(0, random()))
  const waited = Math.min(firstDelayMs * 2 ** (failed - 1), longestDelayMs) * (0.5 + part / 2)
  const wished = retry_after_ms === 0 ? 0 : retry_after_ms + part * firstDelayMs
  return Math.ceil(Math.max(waited, wished))
}
