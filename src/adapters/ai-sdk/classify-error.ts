import type { ModelEvent } from '../../runtime/model.ts'

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

/** The error event for an error that a model threw or sent. Its message is for people and never contains a key. */
export function classifyError(thrown: unknown, now: number): ErrorEvent {
  const evidence = evidenceIn(thrown)
  const type = rules.find((rule) => fits(rule, evidence))?.type ?? 'provider_error'
  const retryAfterMs = retryAfter(evidence.headers, now)
  const event = errorEvent(type, detail(type, evidence))
  return event.retryable && retryAfterMs !== undefined ? { ...event, retryAfterMs } : event
}

/** The error event of a declared type, with an optional detail. */
export function errorEvent(errorType: ErrorTypeName, detail = ''): ErrorEvent {
  const { says, retryable } = errorTypes[errorType]
  return { type: 'error', errorType, message: detail === '' ? says : `${says} ${detail}`, retryable }
}

function fits({ statuses, words, message }: Rule, evidence: Evidence): boolean {
  if (evidence.status !== undefined && statuses?.includes(evidence.status)) return true
  if (words !== undefined && [...evidence.words].some((word) => words.test(word))) return true
  const isRefusal = evidence.status === undefined || (evidence.status < 500 && evidence.status !== 429)
  return isRefusal && message?.test(evidence.message.slice(0, longestSearched)) === true
}

const longest = 500

function detail(type: ErrorTypeName, { status, message, words }: Evidence): string {
  // A provider that refuses a key often quotes it. Only the message of the package is safe: it names the variable.
  const isOurs = words.has('ai_loadapikeyerror')
  const shown = type === 'auth_refused' && !isOurs ? '' : withoutKeys(message.slice(0, longest))
  return [status === undefined ? '' : `HTTP ${status}.`, shown].filter((part) => part !== '').join(' ')
}

/** The public `error_type`s of `turn.error`: add rows, never rename one. A retry may help if `retryable`. */
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
  answer_too_long:  { retryable: false, says: 'The answer reached its limit in the middle of a call; none of its calls was made. Allow more with maxOutputTokens.' },
} as const

type ErrorTypeName = keyof typeof errorTypes

type Evidence = ReturnType<typeof evidenceIn>

const deepest = 5
const wordFields = ['name', 'code', 'type', 'status', 'reason'] as const
const innerFields = ['error', 'data', 'response', 'cause', 'errors'] as const

/** Reads an error in all places where providers put its data. Never throws; gives up after a few levels. */
function evidenceIn(thrown: unknown) {
  /** Names, codes and types of the error and of its causes, in lower case. */
  const words = new Set<string>()
  const messages: string[] = []
  const statuses: number[] = []
  const seen = new Set<unknown>()

  function look(value: unknown, depth: number) {
    if (typeof value === 'string' && depth === 0) messages.push(value)
    if (typeof value !== 'object' || value === null || depth > deepest || seen.has(value)) return
    seen.add(value)
    const given = value as Readonly<Record<string, unknown>>
    for (const field of wordFields) if (typeof given[field] === 'string') words.add(given[field].toLowerCase())
    for (const found of [given.statusCode, given.code, given.status]) if (isStatus(found)) statuses.push(Number(found))
    if (typeof given.message === 'string' && given.message.trim() !== '') messages.push(given.message)
    if (typeof given.error === 'string') messages.push(given.error)
    for (const field of innerFields)
      for (const inner of Array.isArray(given[field]) ? given[field].slice(0, 3) : [given[field]])
        look(inner, depth + 1)
    look(parsed(given.responseBody), depth + 1)
  }
  let headers: unknown
  try {
    look(thrown, 0)
    headers = Object(thrown).responseHeaders
  } catch {
    // A getter may throw.
  }
  return { status: statuses[0], words, message: messages[0] ?? '', headers }
}

const isStatus = (value: unknown) =>
  /^[45]\d\d$/.test(typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '')

function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** The wait that a provider asks for: `retry-after-ms` (OpenAI), or `retry-after` in seconds or as a date. */
export function retryAfter(headers: unknown, now: number): number | undefined {
  const given = new Map(
    Object.entries(Object(headers)).map(([name, value]) => [name.toLowerCase(), textOf(value).trim()]),
  )
  const ms = amount(given.get('retry-after-ms'))
  if (ms !== undefined) return Math.ceil(ms)
  const after = given.get('retry-after')
  const seconds = amount(after)
  if (seconds !== undefined) return Math.ceil(seconds * 1_000)
  const date = /^[a-z]{3}, /i.test(after ?? '') ? Date.parse(after ?? '') : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const textOf = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

const amount = (text = '') => (/^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) : undefined)

/** Patterns of API keys, which never reach a record. The config names other secrets. */
const keys: readonly RegExp[] = [
  /\b(Bearer|Basic)\s+[^\s"',;]+/gi,
  /\b(x-api-key|api[-_ ]?key|authorization|access[-_]token|token|secret|password)(["']?\s*[:=]\s*["']?)(?!\[)[^\s"',;&]+/gi,
  /\b(sk|pk|rk|gsk|xai|hf|key|AIza|AKIA|ghp|glpat)[-_]?[A-Za-z0-9*][\w*.-]{7,}/g,
  /\b(?!req_|msg_|resp_|chatcmpl-)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}/g,
]

/** Some patterns look ahead from every word, so the searched text is bounded. No view shows more than this. */
const longestSearched = 8_000

/** Replaces everything that looks like an API key. */
export function withoutKeys(text: string): string {
  return keys.reduce((left, key) => left.replace(key, '[key]'), text.slice(0, longestSearched))
}
