import { faults } from '../faults/catalogue.ts'
import { canonicalJson } from '../kernel/json.ts'
import type { RecordedRequest } from '../runelog/models.ts'
import type { ModelQuery, Row } from '../runelog/port.ts'
import type { Endpoint } from '../wire/endpoint.ts'
import type { Backend } from './backend.ts'

/** The scopes of a token, weakest first. Each scope includes those before it. */
export const scopes = ['read', 'operate', 'approve', 'admin'] as const

/** What a token allows. */
export type Scope = (typeof scopes)[number]

/** Whether a token with the scope `has` may do what `needs` asks for. */
export function allows(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

/** An endpoint, who may ask for it, and how it is answered. Routes, documents, commands and tests come from the list of them. */
export interface Operation<P = unknown, Q = unknown, B = unknown, R = unknown> extends Endpoint<P, Q, B, R> {
  readonly scope: Scope
  readonly summary: string
  /** It does not change while the program runs: served with an ETag and kept by caches. */
  readonly immutable?: true
  /** The log itself has the idempotency key, so a repeated request is recognised after a crash. No answer is kept. */
  readonly key_is_recorded?: true
  /** It erases content. No answer that was kept before it is given again. */
  readonly erases?: true
  /** The answer and its revision, served as an ETag. If durations grow in the answer, the revision has the time. */
  look?(backend: Backend, asked: Asked<P, Q, B>): Promise<Seen<R>>
  run(backend: Backend, asked: Asked<P, Q, B>): Promise<R>
  /** Answers a command whose key was recorded before. Without it, the command runs again, with ids from the key. */
  repeat?(backend: Backend, asked: Asked<P, Q, B>, recorded: RecordedRequest): Promise<R>
}

interface Seen<R> {
  readonly revision: string
  answer(): R | Promise<R>
}

/** A request whose parts fit their shapes. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** A request that is sent again with the same key takes effect once. */
  readonly idempotency_key: string | null
  /** The name of the token that asks, or `human` where none is needed. */
  readonly by: string
  /** What that token may ask for. */
  readonly scope: Scope
}

type Unscoped<P, Q, B, R> = Omit<Operation<P, Q, B, R>, 'scope'>

/** Makes an operation of an endpoint. The scope of a GET is `read` unless another one is named. */
export function defineOperation<P, Q, B, R>(
  declared: Unscoped<P, Q, B, R> & ({ readonly method: 'GET'; readonly scope?: Scope } | { readonly scope: Scope }),
): Operation<P, Q, B, R> {
  return { scope: 'read', ...declared }
}

/** An operation that only looks, declared by how it looks. Its scope is `read`. */
export function defineLook<P, Q, B, R>(
  declared: Omit<Unscoped<P, Q, B, R>, 'run'> & Required<Pick<Operation<P, Q, B, R>, 'look'>>,
): Operation<P, Q, B, R> {
  const run: Operation<P, Q, B, R>['run'] = async (backend, asked) => (await declared.look(backend, asked)).answer()
  return { scope: 'read', ...declared, run }
}

/** The idempotency key with operation and sender: two senders may choose the same key. */
export function requestKey(operation: string, { by, idempotency_key }: Asked<unknown, unknown, unknown>) {
  return idempotency_key === null ? undefined : canonicalJson([operation, by, idempotency_key])
}

/** The same object without the fields that are undefined. */
export function withoutUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

/** Where a list goes on. */
export type Place = NonNullable<ModelQuery['after']>

/** The cursor after this row. */
export function cursorAt({ sort, key }: Pick<Row, 'sort' | 'key'>): string {
  return `${sort ?? ''}_${key}`
}

/** The place that a cursor names; undefined for the first page. Refused with `bad_request` if it is no cursor. */
export function readCursor(operation: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, sort = '', key = ''] = /^(-?\d{0,15})_([\w.:-]{1,200})$/.exec(cursor) ?? []
  if (key !== '') return { sort: sort === '' ? null : Number(sort), key }
  const problem = 'It is not the next_cursor of a page. Leave it out for the first page.'
  throw faults.bad_request({ operation, problems: [{ in: 'query', pointer: '/cursor', problem }] })
}

/** What is read for a page: one row more than fits, so that the page knows whether it is the last. */
export function pageAsked(operation: string, { limit, cursor }: { limit: number; cursor?: string | undefined }) {
  const after = readCursor(operation, cursor)
  return { limit: limit + 1, ...(after && { after }) }
}

/** The rows of a page, and where the list goes on. */
export function paged<R extends Pick<Row, 'sort' | 'key'>>(rows: readonly R[], limit: number) {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { shown, next_cursor: rows.length > limit && last !== undefined ? cursorAt(last) : null }
}
