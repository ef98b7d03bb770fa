import type { Problem as Refusal } from '../../src/wire/common.ts'
import { addressOf, type Endpoint, type Given } from '../../src/wire/endpoint.ts'
import { token } from './token.ts'

/** Why a request was refused, or why there was no answer; a request without an answer has no id. */
export type Problem = Pick<Refusal, 'status' | 'code' | 'title' | 'detail' | 'outcome' | 'details'> & {
  readonly request_id: string | null
}

/** A value, or the problem that the server named. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly server_at: number | null }
  | { readonly ok: false; readonly problem: Problem }

/** The header with the token, if there is one. */
export function authorization(): Record<string, string> {
  const known = token()
  return known === null ? {} : { authorization: `Bearer ${known}` }
}

/** Asks the server. Every act has a key of its own, so that a repetition after a lost answer does nothing twice. */
export async function ask<P, Q, B, R>(
  { method, path }: Endpoint<P, Q, B, R>,
  given: Given<P, Q, B> = {},
  signal?: AbortSignal,
): Promise<Answer<R>> {
  const { params, query, body = {}, idempotency_key = crypto.randomUUID() } = given
  const act = {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotency_key },
  }
  const { headers, ...sent } = method === 'GET' ? { headers: {} } : act
  try {
    const response = await fetch(addressOf(path, { ...params }, query), {
      ...{ method, ...sent, ...(signal && { signal }) },
      headers: { accept: 'application/json', ...headers, ...authorization() },
    })
    if (!response.ok) return { ok: false, problem: await problemOf(response) }
    return { ok: true, value: await response.json(), server_at: serverTime(response) }
  } catch (error) {
    if (signal?.aborted) return { ok: false, problem: unanswered('aborted', 'The page asked for something else.') }
    return { ok: false, problem: unanswered('unreachable', `The server does not answer (${String(error)}).`) }
  }
}

function serverTime(response: Response): number | null {
  const date = response.headers.get('date')
  return date === null ? null : Date.parse(date)
}

/** The problem in a refused response. */
export async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText: title } = response
  const said: Partial<Problem> = await response.json().catch(() => ({}))
  const usual: Problem = {
    status,
    code: `http_${status}`,
    title,
    detail: `The server answered ${status}.`,
    outcome: status >= 500 ? 'unknown' : 'not_applied',
    details: {},
    request_id: null,
  }
  return { ...usual, ...said, status }
}

function unanswered(code: string, detail: string): Problem {
  return { status: 0, code, title: 'No answer', detail, outcome: 'unknown', details: {}, request_id: null }
}
