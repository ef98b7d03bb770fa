import type { ModelEvent } from '../../runtime/model.ts'
import { type ErrorTypeName, errorTypes } from './error-types.ts'
import { type Evidence, evidenceIn } from './evidence.ts'
import { retryAfter } from './retry-after.ts'
import { longestSearched, withoutKeys } from './without-keys.ts'

type ErrorEvent = Extract<ModelEvent, { type: 'error' }>

interface Rule {
  readonly type: ErrorTypeName
  readonly statuses?: readonly number[]
  /** Names, codes or types of errors, as providers and their packages write them. */
  readonly words?: RegExp
  /** Only where no better sign exists; counts for requests that were refused, and inside streams. */
  readonly message?: RegExp
}

/** The first rule that fits decides. The order matters where providers use one status for two things. */
const rules: readonly Rule[] = [
  { type: 'quota_exhausted', statuses: [402], words: /^(insufficient_quota|billing_\w+)$/ },
  {
    type: 'content_refused',
    words: /^(content_filter|content_policy_violation|responsibleaipolicyviolation|moderation\w*)$/,
    message: /content (management )?policy|flagged|content.?filter/i,
  },
  {
    type: 'context_too_long',
    statuses: [413],
    words: /^(context_length_exceeded|request_too_large)$/,
    message: /context.?(length|window|size|limit)|prompt is too long|input is too long|token count .*exceeds/i,
  },
  {
    type: 'auth_refused',
    statuses: [401, 403],
    words: /^(ai_loadapikeyerror|ai_loadsettingerror|authentication_error|invalid_api_key|permission_(error|denied))$/,
  },
  { type: 'rate_limited', statuses: [429], words: /^(rate_limit\w*|throttling\w*|resource_exhausted)$/ },
  { type: 'timeout', statuses: [408, 504], words: /^(timeout_?error|etimedout|und_err_\w*timeout)$/ },
  { type: 'stream_truncated', words: /^ai_emptyresponsebodyerror$/, message: /ended without a finish/i },
  {
    type: 'connection_lost',
    words: /^(econn\w+|epipe|enotfound|eai_again|e(host|net)unreach|und_err_\w+|aborterror|err_(tls|ssl)\w*|cert_\w+)$/,
    message: /^(terminated|fetch failed|network error|cannot connect to api)/i,
  },
  {
    type: 'bad_request',
    statuses: [400, 404, 405, 406, 410, 411, 415, 422],
    words: /^(invalid_request_error|(model_)?not_found(_error)?|ai_(unsupported|invalid(prompt|argument)|nosuch)\w*)$/,
  },
]

/** What to record about an error that a model threw or sent. It tells a person what happened and never contains a key. */
export function classifyError(thrown: unknown, now: number): ErrorEvent {
  const evidence = evidenceIn(thrown)
  const type = rules.find((rule) => fits(rule, evidence))?.type ?? 'provider_error'
  const retry_after_ms = retryAfter(evidence.headers, now)
  const event = errorEvent(type, detail(type, evidence))
  return event.retryable && retry_after_ms !== undefined ? { ...event, retry_after_ms } : event
}

export function errorEvent(error_type: ErrorTypeName, detail = ''): ErrorEvent {
  const { says, retryable } = errorTypes[error_type]
  return { type: 'error', error_type, message: detail === '' ? says : `${says} ${detail}`, retryable }
}

function fits({ statuses, words, message }: Rule, evidence: Evidence): boolean {
  if (evidence.status !== undefined && statuses?.includes(evidence.status)) return true
  if (words !== undefined && [...evidence.words].some((word) => words.test(word))) return true
  const isRefusal = evidence.status === undefined || (evidence.status < 500 && evidence.status !== 429)
  return isRefusal && message?.test(evidence.message.slice(0, longestSearched)) === true
}

/** Longer ones quote the request. */
const longest = 500

function detail(type: ErrorTypeName, { status, message, words }: Evidence): string {
  // A provider that refuses a key often quotes it. Only our own side may say more: which variable has no key.
  const isOurs = words.has('ai_loadapikeyerror')
  const told = type === 'auth_refused' && !isOurs ? '' : withoutKeys(message.slice(0, longest))
  return [status === undefined ? '' : `HTTP ${status}.`, told].filter((part) => part !== '').join(' ')
}
