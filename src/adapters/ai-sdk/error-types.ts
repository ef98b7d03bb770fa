interface ErrorType {
  /** What happened, for readers of the record. */
  readonly says: string
  /** The same request may well succeed a little later. Nothing of the broken answer was acted upon. */
  readonly retryable: boolean
}

/**
 * Every way in which the answer of a provider's model breaks. These are the
 * `error_type`s of `turn.error`; they are public, so rows are added and never
 * renamed. That a stream was silent for too long is said by the turn itself
 * (`stream_silent`), which measures it by our clock.
 */
// biome-ignore format: tables are audited by eye, so their columns line up
export const errorTypes = {
  stream_truncated: { retryable: true,  says: 'The stream ended before the answer was complete.' },
  connection_lost:  { retryable: true,  says: 'The connection to the provider failed or was lost.' },
  timeout:          { retryable: true,  says: 'The provider, or the way to it, took too long.' },
  rate_limited:     { retryable: true,  says: 'The provider limits how often it may be asked.' },
  quota_exhausted:  { retryable: false, says: 'The account has used up what was paid for.' },
  provider_error:   { retryable: true,  says: 'The provider failed.' },
  auth_refused:     { retryable: false, says: 'The provider refused the key, or what the key may do.' },
  bad_request:      { retryable: false, says: 'The provider refused the request.' },
  context_too_long: { retryable: false, says: 'The dialogue is longer than the model can read.' },
  content_refused:  { retryable: false, says: 'The provider refused to work with this content.' },
  answer_too_long:  { retryable: false, says: 'The answer reached its limit in the middle of a call; none of its calls was made. Allow more with max_output_tokens.' },
} as const satisfies Record<string, ErrorType>

export type ErrorTypeName = keyof typeof errorTypes
