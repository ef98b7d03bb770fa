import type { Problem as Refusal } from '../../src/wire/common.ts'
import { token } from './token.ts'

/** Why a request was refused, or why there was no answer; a request without an answer has no id. */
export type Problem = Pick<Refusal, 'status' | 'code' | 'title' | 'detail' | 'outcome' | 'details'> & {
  readonly request_id: string | null
}

/** A value, or the problem that the server named. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly server_at: number | null }
  | { readonly ok: false; readonly problem: Problem }

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Reads from the server. */
export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer<T>> {
  return ask<T>('GET', withQuery(path, query), undefined, signal === undefined ? {} : { signal })
}

/** Every act has a key of its own, so that a repetition after a lost answer does nothing twice. */
export function post<T>(path: string, body: object = {}, key: string = crypto.randomUUID()): Promise<Answer<T>> {
  return ask<T>('POST', path, body, { headers: { 'idempotency-key': key } })
}

/** A path with those query fields that have a value. */
function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)] as [string, string]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

/** The header with the token, if there is one. */
export function authorization(): Record<string, string> {
  const known = token()
  return known === null ? {} : { authorization: `Bearer ${known}` }
}

async function ask<T>(method: string, url: string, body: object | undefined, more: RequestInit): Promise<Answer<T>> {
  const headers = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...authorization(),
    ...(more.headers as object | undefined),
  }
  try {
    const response = await fetch(url, { ...more, method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!response.ok) return { ok: false, problem: await problemOf(response) }
    return { ok: true, value: (await response.json()) as T, server_at: serverTime(response) }
  } catch (error) {
    if (more.signal?.aborted) return { ok: false, problem: unanswered('aborted', 'The page asked for something else.') }
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
  const said = (await response.json().catch(() => ({}))) as Partial<Problem>
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
